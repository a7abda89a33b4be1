// Package framestest checks that a [frames.Framer] cuts a stream in the same way, whatever pieces
// its bytes come in.
package framestest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/relist-go/relist/transport/frames"
)

// Result is what a stream was cut into, and how it ended.
type Result struct {
	Frames []string // a frame that was too large is "too large at OFFSET"
	End    string   // "EOF" between two frames, "unexpected EOF" inside one, or what is wrong
}

// Cut reads a stream to its end. A frame may have limit bytes; 0 is unlimited.
func Cut(framer frames.Framer, r io.Reader, limit int) Result {
	return Collect(frames.NewReader(r, framer, limit, nil).Next)
}

// Collect calls next until the stream has ended, and once more.
func Collect(next func() ([]byte, error)) Result {
	var got Result
	for {
		data, err := next()
		var large *frames.TooLargeError
		var malformed *frames.Error
		switch {
		case err == nil:
			got.Frames = append(got.Frames, string(data))
			continue
		case errors.As(err, &large):
			got.Frames = append(got.Frames, fmt.Sprintf("too large at %d", large.Offset))
			continue
		case errors.As(err, &malformed):
			got.End = fmt.Sprintf("malformed at %d: %s", malformed.Offset, malformed.Reason)
		case errors.Is(err, io.ErrUnexpectedEOF):
			got.End = "unexpected EOF"
		default:
			got.End = err.Error()
		}
		if _, again := next(); !errors.Is(again, err) {
			got.End += fmt.Sprintf("; and then %v", again)
		}
		return got
	}
}

// Test cuts a stream and returns the result. It fails the test if another result comes
// where the stream arrives in pieces: byte by byte, split in two at each of the first
// 2,000 bytes, with the end together with the last byte, or if Ready is asked before
// each frame, which must read nothing.
func Test(t testing.TB, newFramer func() frames.Framer, stream []byte, limit int) Result {
	t.Helper()
	want := Cut(newFramer(), bytes.NewReader(stream), limit)
	check := func(how string, in io.Reader) {
		t.Helper()
		if got := Cut(newFramer(), in, limit); !slices.Equal(got.Frames, want.Frames) || got.End != want.End {
			t.Errorf("%s: %+v, and of the whole stream %+v", how, got, want)
		}
	}
	check("byte by byte", iotest.OneByteReader(bytes.NewReader(stream)))
	check("the end with the last byte", iotest.DataErrReader(bytes.NewReader(stream)))
	for at := range min(len(stream), 2000) + 1 {
		check(fmt.Sprint("split at byte ", at), Pieces(stream[:at], stream[at:]))
		if t.Failed() {
			break
		}
	}
	in := &counting{r: iotest.HalfReader(bytes.NewReader(stream))}
	f := frames.NewReader(in, newFramer(), limit, nil)
	got := Collect(func() ([]byte, error) {
		before := in.reads
		ready := f.Ready()
		data, err := f.Next()
		if ready && in.reads != before {
			t.Errorf("a frame was ready, and Next read")
		}
		return data, err
	})
	if !slices.Equal(got.Frames, want.Frames) || got.End != want.End {
		t.Errorf("asked whether frames are ready: %+v, and otherwise %+v", got, want)
	}
	return want
}

// TestSplit cuts a stream and returns the result, as [Test] does. It is faster, for fuzz
// tests: the stream arrives byte by byte, and split in two at one place only, the byte at.
func TestSplit(t testing.TB, newFramer func() frames.Framer, stream []byte, at, limit int) Result {
	t.Helper()
	want := Cut(newFramer(), bytes.NewReader(stream), limit)
	at = min(at, len(stream))
	for how, in := range map[string]io.Reader{
		"byte by byte":                   iotest.OneByteReader(bytes.NewReader(stream)),
		fmt.Sprint("split at byte ", at): Pieces(stream[:at], stream[at:]),
	} {
		if got := Cut(newFramer(), in, limit); !slices.Equal(got.Frames, want.Frames) || got.End != want.End {
			t.Errorf("%s: %+v, and of the whole stream %+v", how, got, want)
		}
	}
	return want
}

type counting struct {
	r     io.Reader
	reads int
}

func (c *counting) Read(p []byte) (int, error) {
	c.reads++
	return c.r.Read(p)
}

// Pieces returns a reader that returns its pieces one by one.
func Pieces(parts ...[]byte) io.Reader {
	readers := make([]io.Reader, len(parts))
	for i, p := range parts {
		readers[i] = bytes.NewReader(p)
	}
	return io.MultiReader(readers...)
}
