package protobuf

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/internal/framestest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/transport/frames"
)

func newReader(r io.Reader, limit int) *frames.Reader {
	return frames.NewReader(r, Format{}.NewFramer(), limit, nil)
}

func cut(r io.Reader, limit int) framestest.Result {
	return framestest.Cut(Format{}.NewFramer(), r, limit)
}

// capturedLengths is the body of a watch in protobuf that a kube-apiserver sent.
func capturedLengths(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("../../testdata/captures/watch-protobuf.bin")
	must.OK(t, err)
	return data
}

func TestLengthFramesOfACapturedStreamSplitAnywhere(t *testing.T) {
	body := capturedLengths(t)
	want := cut(bytes.NewReader(body), 0)
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
	if diff := cmp.Diff(want, framestest.Test(t, Format{}.NewFramer, body, 0)); diff != "" {
		t.Fatalf("in pieces (-want +got):\n%s", diff)
	}
}

func TestLengthFrames(t *testing.T) {
	tests := []struct {
		name  string
		in    string
		limit int
		want  framestest.Result
	}{
		{"empty stream", "", 0, framestest.Result{Frames: nil, End: "EOF"}},
		{"two frames", "\x00\x00\x00\x01a\x00\x00\x00\x02bc", 0, framestest.Result{Frames: []string{"a", "bc"}, End: "EOF"}},
		{"a frame with zeros", "\x00\x00\x00\x02\x00\x00", 0, framestest.Result{Frames: []string{"\x00\x00"}, End: "EOF"}},
		{"end in a length", "\x00\x00\x00\x01a\x00\x00", 0, framestest.Result{Frames: []string{"a"}, End: "unexpected EOF"}},
		{"end after a length", "\x00\x00\x00\x01", 0, framestest.Result{Frames: nil, End: "unexpected EOF"}},
		{"end in a frame", "\x00\x00\x00\x03ab", 0, framestest.Result{Frames: nil, End: "unexpected EOF"}},
		{"no bytes", "\x00\x00\x00\x01a\x00\x00\x00\x00", 0, framestest.Result{Frames: []string{"a"}, End: "malformed at 5: 0 bytes is no length of a frame"}},
		{"HTML", "<html>", 64 << 20, framestest.Result{Frames: nil, End: "malformed at 0: 1013478509 bytes is no length of a frame"}},
		{"JSON", `{"type":"ADDED"}`, 8, framestest.Result{Frames: nil, End: "malformed at 0: 2065855609 bytes is no length of a frame"}},
		{"at the limit", "\x00\x00\x00\x03abc", 3, framestest.Result{Frames: []string{"abc"}, End: "EOF"}},
		{"over the limit", "\x00\x00\x00\x04abcd\x00\x00\x00\x01e", 3, framestest.Result{Frames: []string{"too large at 4", "e"}, End: "EOF"}},
		{"over the limit, twice", "\x00\x00\x00\x04abcd\x00\x00\x00\x05efghi", 3, framestest.Result{Frames: []string{"too large at 4", "too large at 12"}, End: "EOF"}},
		{"over the limit, and cut", "\x00\x00\x00\x05abcd", 3, framestest.Result{Frames: []string{"too large at 4"}, End: "unexpected EOF"}},
		{"over the limit, and cut at once", "\x00\x00\x00\x05ab", 3, framestest.Result{Frames: nil, End: "unexpected EOF"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, framestest.Test(t, Format{}.NewFramer, []byte(tt.in), tt.limit)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestLengthFrameErrors shows that Next returns the error of the connection, and that
// the error for a large frame has its first bytes.
func TestLengthFrameErrors(t *testing.T) {
	broken := errors.New("connection reset")
	for _, in := range []string{"", "\x00\x00", "\x00\x00\x00\x09ab", "\x00\x00\x00\x01a"} {
		f := newReader(io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken)), 0)
		_, err := f.Next()
		if in == "\x00\x00\x00\x01a" {
			_, err = f.Next()
		}
		if !errors.Is(err, broken) {
			t.Errorf("after %q: %v", in, err)
		}
	}
	f := newReader(strings.NewReader("\x00\x00\x20\x00"+strings.Repeat("x", 0x2000)), 0x1800)
	_, err := f.Next()
	var large *frames.TooLargeError
	if !errors.As(err, &large) || len(large.Head) != frames.TooLargeHead {
		t.Errorf("error is %v, want one with %d bytes", err, frames.TooLargeHead)
	}
}

// TestLengthFramesTakeNoMemoryForALie has a length of almost 512 MiB without the
// bytes.
func TestLengthFramesTakeNoMemoryForALie(t *testing.T) {
	in := &largestRead{r: strings.NewReader("\x1f\xff\xff\xffabc")}
	if _, err := newReader(in, 0).Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("error is %v", err)
	}
	if in.largest > 1<<20 {
		t.Errorf("%d bytes were taken for 3 that came", in.largest)
	}
}

// largestRead is a reader that remembers the size of the largest buffer it was given.
type largestRead struct {
	r       io.Reader
	largest int
}

func (l *largestRead) Read(p []byte) (int, error) {
	l.largest = max(l.largest, len(p))
	return l.r.Read(p)
}

// FuzzLengthFrames reads any bytes whole and in pieces. Both must give the same
// frames and the same error. Frames with their lengths, put together again, must be
// the bytes that were read.
func FuzzLengthFrames(f *testing.F) {
	f.Add(capturedLengths(f), uint8(3), uint8(0))
	f.Add([]byte("\x00\x00\x00\x04abcd\x00\x00\x00\x01e"), uint8(6), uint8(3))
	f.Add([]byte("\x00\x00\x00\x00"), uint8(1), uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, at, limit uint8) {
		framestest.TestSplit(t, Format{}.NewFramer, in, int(at), int(limit))
		if got := cut(bytes.NewReader(in), 0); got.End == "EOF" {
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
