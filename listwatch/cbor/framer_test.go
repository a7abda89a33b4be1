package cbor

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/internal/framestest"
)

func cut(r io.Reader, limit int) framestest.Result {
	return framestest.Cut(cborFormat{}.NewFramer(), r, limit)
}

// The event {"type": "ADDED", "object": {}} as a kube-apiserver writes it, with the
// tag that marks CBOR before it.
const (
	cborAdded   = "\xd9\xd9\xf7\xa2\x44type\x45ADDED\x46object\xa0"
	cborDeleted = "\xd9\xd9\xf7\xa2\x44type\x47DELETED\x46object\xa1\x41a\xfb\x3f\xf8\x00\x00\x00\x00\x00\x00"
)

func TestFramesSplitAnywhere(t *testing.T) {
	in := []byte(cborAdded + cborDeleted + "\xbf\x00\x9f\xff\x7f\x61a\xff\x01\xff" + cborAdded)
	want := framestest.Result{Frames: []string{cborAdded, cborDeleted, "\xbf\x00\x9f\xff\x7f\x61a\xff\x01\xff", cborAdded}, End: "EOF"}
	if diff := cmp.Diff(want, framestest.Test(t, cborFormat{}.NewFramer, in, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFrames(t *testing.T) {
	tests := []struct {
		name  string
		in    string
		limit int
		want  framestest.Result
	}{
		{"empty stream", "", 0, framestest.Result{Frames: nil, End: "EOF"}},
		{"zeros are no padding", "\xa1\x00\x00", 0, framestest.Result{Frames: []string{"\xa1\x00\x00"}, End: "EOF"}},
		{"end in a frame", cborAdded + "\xa1", 0, framestest.Result{Frames: []string{cborAdded}, End: "unexpected EOF"}},
		{"end after a tag", "\xd9\xd9\xf7", 0, framestest.Result{Frames: nil, End: "unexpected EOF"}},
		{"JSON", `{"type":"ADDED"}`, 0, framestest.Result{Frames: nil, End: "malformed at 0: want a map"}},
		{"HTML", "<html>", 0, framestest.Result{Frames: nil, End: "malformed at 0: want a map"}},
		{"a number", cborAdded + "\x00", 0, framestest.Result{Frames: []string{cborAdded}, End: "malformed at 23: want a map"}},
		{"white space between", cborAdded + "\n" + cborAdded, 0, framestest.Result{Frames: []string{cborAdded}, End: "malformed at 23: want a map"}},
		{"reserved", "\xa1\x00\x1c", 0, framestest.Result{Frames: nil, End: "malformed at 2: initial byte 0x1c has no meaning"}},
		{"at the limit", "\xa1\x00\x00", 3, framestest.Result{Frames: []string{"\xa1\x00\x00"}, End: "EOF"}},
		{"over the limit", "\xa1\x00\x43abc\xa1\x00\x00", 3, framestest.Result{Frames: []string{"too large at 0", "\xa1\x00\x00"}, End: "EOF"}},
		{"over the limit, twice", "\xa1\x00\x43abc\xa1\x00\x43abc", 3, framestest.Result{Frames: []string{"too large at 0", "too large at 6"}, End: "EOF"}},
		{"over the limit, and cut", "\xa1\x00\x43ab", 3, framestest.Result{Frames: []string{"too large at 0"}, End: "unexpected EOF"}},
		{"a string of 2^60 bytes", "\xa1\x00\x5b\x10\x00\x00\x00\x00\x00\x00\x00" + strings.Repeat("x", 9), 12, framestest.Result{Frames: []string{"too large at 0"}, End: "unexpected EOF"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, framestest.Test(t, cborFormat{}.NewFramer, []byte(tt.in), tt.limit)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzFrames reads any bytes whole and in pieces. Both must give the same frames
// and the same error.
func FuzzFrames(f *testing.F) {
	f.Add([]byte(cborAdded+cborDeleted), uint8(3), uint8(0))
	f.Add([]byte("\xbf\x00\x9f\xff\x7f\x61a\xff\x01\xff\xa0"), uint8(6), uint8(3))
	f.Fuzz(func(t *testing.T, in []byte, at, limit uint8) {
		framestest.TestSplit(t, cborFormat{}.NewFramer, in, int(at), int(limit))
		if got := cut(bytes.NewReader(in), 0); got.End == "EOF" && strings.Join(got.Frames, "") != string(in) {
			t.Errorf("frames %q out of %q", got.Frames, in)
		}
	})
}
