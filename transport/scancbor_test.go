package transport

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func cutCBOR(r io.Reader, limit int) result { return collect(newCBORReader(r, limit).next) }

// Events as a kube-apiserver writes them, after the tag that says that they are CBOR:
// {"type": "ADDED", "object": {}}.
const (
	cborAdded   = "\xd9\xd9\xf7\xa2\x44type\x45ADDED\x46object\xa0"
	cborDeleted = "\xd9\xd9\xf7\xa2\x44type\x47DELETED\x46object\xa1\x41a\xfb\x3f\xf8\x00\x00\x00\x00\x00\x00"
)

func TestCBORFramesSplitAnywhere(t *testing.T) {
	in := []byte(cborAdded + cborDeleted + "\xbf\x9f\xff\x7f\x61a\xff\xff" + cborAdded)
	want := result{[]string{cborAdded, cborDeleted, "\xbf\x9f\xff\x7f\x61a\xff\xff", cborAdded}, "EOF"}
	for at := range len(in) + 1 {
		if diff := cmp.Diff(want, cutCBOR(pieces(in[:at], in[at:]), 0)); diff != "" {
			t.Fatalf("split at byte %d (-want +got):\n%s", at, diff)
		}
	}
	if diff := cmp.Diff(want, cutCBOR(iotest.OneByteReader(bytes.NewReader(in)), 0)); diff != "" {
		t.Fatalf("byte by byte (-want +got):\n%s", diff)
	}
}

func TestCBORFrames(t *testing.T) {
	tests := []struct {
		name  string
		in    string
		limit int
		want  result
	}{
		{"empty stream", "", 0, result{nil, "EOF"}},
		{"zeros are no padding", "\xa1\x00\x00", 0, result{[]string{"\xa1\x00\x00"}, "EOF"}},
		{"end in a frame", cborAdded + "\xa1", 0, result{[]string{cborAdded}, "unexpected EOF"}},
		{"end after a tag", "\xd9\xd9\xf7", 0, result{nil, "unexpected EOF"}},
		{"JSON", `{"type":"ADDED"}`, 0, result{nil, "malformed at 0: want the map of an event"}},
		{"HTML", "<html>", 0, result{nil, "malformed at 0: want the map of an event"}},
		{"a number", cborAdded + "\x00", 0, result{[]string{cborAdded}, "malformed at 23: want the map of an event"}},
		{"white space between", cborAdded + "\n" + cborAdded, 0, result{[]string{cborAdded}, "malformed at 23: want the map of an event"}},
		{"reserved", "\xa1\x00\x1c", 0, result{nil, "malformed at 2: initial byte 0x1c has no meaning"}},
		{"at the limit", "\xa1\x00\x00", 3, result{[]string{"\xa1\x00\x00"}, "EOF"}},
		{"over the limit", "\xa1\x00\x43abc\xa1\x00\x00", 3, result{[]string{"too large at 0", "\xa1\x00\x00"}, "EOF"}},
		{"over the limit, twice", "\xa1\x00\x43abc\xa1\x00\x43abc", 3, result{[]string{"too large at 0", "too large at 6"}, "EOF"}},
		{"over the limit, and cut", "\xa1\x00\x43ab", 3, result{[]string{"too large at 0"}, "unexpected EOF"}},
		{"a string of 2^60 bytes", "\xa1\x00\x5b\x10\x00\x00\x00\x00\x00\x00\x00" + strings.Repeat("x", 9), 12, result{[]string{"too large at 0"}, "unexpected EOF"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, cutCBOR(strings.NewReader(tt.in), tt.limit)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, cutCBOR(iotest.OneByteReader(strings.NewReader(tt.in)), tt.limit)); diff != "" {
				t.Errorf("byte by byte (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzCBORFrames cuts any bytes, whole and in pieces, and asks for the same frames and
// the same end.
func FuzzCBORFrames(f *testing.F) {
	f.Add([]byte(cborAdded+cborDeleted), uint8(3), uint8(0))
	f.Add([]byte("\xbf\x9f\xff\x7f\x61a\xff\xff\xa0"), uint8(6), uint8(3))
	f.Fuzz(func(t *testing.T, in []byte, at, limit uint8) {
		whole := cutCBOR(bytes.NewReader(in), int(limit))
		cut := min(int(at), len(in))
		if diff := cmp.Diff(whole, cutCBOR(pieces(in[:cut], in[cut:]), int(limit))); diff != "" {
			t.Errorf("split at byte %d (-whole +split):\n%s", cut, diff)
		}
		if diff := cmp.Diff(whole, cutCBOR(iotest.OneByteReader(bytes.NewReader(in)), int(limit))); diff != "" {
			t.Errorf("byte by byte (-whole +split):\n%s", diff)
		}
		if got := cutCBOR(bytes.NewReader(in), 0); got.End == "EOF" && strings.Join(got.Frames, "") != string(in) {
			t.Errorf("frames %q out of %q", got.Frames, in)
		}
	})
}
