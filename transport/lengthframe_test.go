package transport

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func cutLengths(r io.Reader, limit int) result { return collect(newLengthReader(r, limit).next) }

// capturedLengths is a watch that a kube-apiserver answered with protobuf.
func capturedLengths(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("../testdata/captures/watch-protobuf.bin")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestLengthFramesOfACapturedStreamSplitAnywhere(t *testing.T) {
	body := capturedLengths(t)
	want := cutLengths(bytes.NewReader(body), 0)
	if len(want.Frames) < 5 || want.End != "EOF" {
		t.Fatalf("%d frames, and then %s", len(want.Frames), want.End)
	}
	size := 0
	for _, frame := range want.Frames {
		size += 4 + len(frame)
		if !strings.HasPrefix(frame, "\x0a") || !strings.Contains(frame, "k8s\x00") {
			t.Errorf("no watch event: %q", frame)
		}
	}
	if size != len(body) {
		t.Errorf("%d of %d bytes", size, len(body))
	}
	for at := range len(body) + 1 {
		if diff := cmp.Diff(want, cutLengths(pieces(body[:at], body[at:]), 0)); diff != "" {
			t.Fatalf("split at byte %d (-want +got):\n%s", at, diff)
		}
	}
	if diff := cmp.Diff(want, cutLengths(iotest.OneByteReader(bytes.NewReader(body)), 0)); diff != "" {
		t.Fatalf("byte by byte (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, cutLengths(iotest.DataErrReader(bytes.NewReader(body)), 0)); diff != "" {
		t.Fatalf("the end together with the last byte (-want +got):\n%s", diff)
	}
}

func TestLengthFrames(t *testing.T) {
	tests := []struct {
		name  string
		in    string
		limit int
		want  result
	}{
		{"empty stream", "", 0, result{nil, "EOF"}},
		{"two frames", "\x00\x00\x00\x01a\x00\x00\x00\x02bc", 0, result{[]string{"a", "bc"}, "EOF"}},
		{"a frame with zeros", "\x00\x00\x00\x02\x00\x00", 0, result{[]string{"\x00\x00"}, "EOF"}},
		{"end in a length", "\x00\x00\x00\x01a\x00\x00", 0, result{[]string{"a"}, "unexpected EOF"}},
		{"end after a length", "\x00\x00\x00\x01", 0, result{nil, "unexpected EOF"}},
		{"end in a frame", "\x00\x00\x00\x03ab", 0, result{nil, "unexpected EOF"}},
		{"no bytes", "\x00\x00\x00\x01a\x00\x00\x00\x00", 0, result{[]string{"a"}, "malformed at 5: 0 bytes is no length of a frame"}},
		{"HTML", "<html>", 64 << 20, result{nil, "malformed at 0: 1013478509 bytes is no length of a frame"}},
		{"JSON", `{"type":"ADDED"}`, 8, result{nil, "malformed at 0: 2065855609 bytes is no length of a frame"}},
		{"at the limit", "\x00\x00\x00\x03abc", 3, result{[]string{"abc"}, "EOF"}},
		{"over the limit", "\x00\x00\x00\x04abcd\x00\x00\x00\x01e", 3, result{[]string{"too large at 0", "e"}, "EOF"}},
		{"over the limit, twice", "\x00\x00\x00\x04abcd\x00\x00\x00\x05efghi", 3, result{[]string{"too large at 0", "too large at 8"}, "EOF"}},
		{"over the limit, and cut", "\x00\x00\x00\x05abcd", 3, result{[]string{"too large at 0"}, "unexpected EOF"}},
		{"over the limit, and cut at once", "\x00\x00\x00\x05ab", 3, result{nil, "unexpected EOF"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, cutLengths(strings.NewReader(tt.in), tt.limit)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, cutLengths(iotest.OneByteReader(strings.NewReader(tt.in)), tt.limit)); diff != "" {
				t.Errorf("byte by byte (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLengthFrameErrors: the error of the connection is the one that is told, and the
// first bytes of what is too large are there.
func TestLengthFrameErrors(t *testing.T) {
	broken := errors.New("connection reset")
	for _, in := range []string{"", "\x00\x00", "\x00\x00\x00\x09ab", "\x00\x00\x00\x01a"} {
		f := newLengthReader(io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken)), 0)
		_, err := f.next()
		if in == "\x00\x00\x00\x01a" {
			_, err = f.next()
		}
		if !errors.Is(err, broken) {
			t.Errorf("after %q: %v", in, err)
		}
	}
	f := newLengthReader(strings.NewReader("\x00\x00\x20\x00"+strings.Repeat("x", 0x2000)), 0x1800)
	_, err := f.next()
	var large *FrameTooLargeError
	if !errors.As(err, &large) || len(large.Head) != frameTooLargeHead {
		t.Errorf("error is %v, want one with %d bytes", err, frameTooLargeHead)
	}
}

// TestLengthFramesTakeNoMemoryForALie: four bytes can promise 4 GiB.
func TestLengthFramesTakeNoMemoryForALie(t *testing.T) {
	f := newLengthReader(strings.NewReader("\xff\xff\xff\xffabc"), 0)
	if _, err := f.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("error is %v", err)
	}
	if got := f.buf.Cap(); got > 1<<20 {
		t.Errorf("%d bytes were taken for 3 that came", got)
	}
}

func TestLengthFramesGiveLargeMemoryBack(t *testing.T) {
	in := "\x00\x08\x00\x00" + strings.Repeat("x", 0x80000) + "\x00\x00\x00\x01a"
	f := newLengthReader(strings.NewReader(in), 0)
	for range 2 {
		if _, err := f.next(); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.buf.Cap(); got > keepBuffer {
		t.Errorf("the buffer still has %d bytes", got)
	}
}

// FuzzLengthFrames cuts any bytes, whole and in pieces, and asks for the same frames
// and the same end. What can be put together again must be what there was.
func FuzzLengthFrames(f *testing.F) {
	f.Add(capturedLengths(f), uint8(3), uint8(0))
	f.Add([]byte("\x00\x00\x00\x04abcd\x00\x00\x00\x01e"), uint8(6), uint8(3))
	f.Add([]byte("\x00\x00\x00\x00"), uint8(1), uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, at, limit uint8) {
		whole := cutLengths(bytes.NewReader(in), int(limit))
		cut := min(int(at), len(in))
		if diff := cmp.Diff(whole, cutLengths(pieces(in[:cut], in[cut:]), int(limit))); diff != "" {
			t.Errorf("split at byte %d (-whole +split):\n%s", cut, diff)
		}
		if diff := cmp.Diff(whole, cutLengths(iotest.OneByteReader(bytes.NewReader(in)), int(limit))); diff != "" {
			t.Errorf("byte by byte (-whole +split):\n%s", diff)
		}
		if got := cutLengths(bytes.NewReader(in), 0); got.End == "EOF" {
			size := 0
			for _, frame := range got.Frames {
				size += lengthBytes + len(frame)
			}
			if size != len(in) {
				t.Errorf("frames of %d bytes out of %d", size, len(in))
			}
		}
	})
}
