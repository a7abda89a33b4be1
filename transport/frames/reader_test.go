package frames

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/internal/must"
)

// lines is a simple format: a frame begins with a letter or a brace, and ends at the end
// of the line.
type lines struct{}

func (lines) Begin(b []byte) (n int, begun bool, err error) {
	for n < len(b) && b[n] == '\n' {
		n++
	}
	if n < len(b) && b[n] != '{' {
		return n, false, errors.New("want a brace")
	}
	return n, n < len(b), nil
}

func (lines) Scan(b []byte) (n, more int, err error) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return i + 1, 0, nil
	}
	return len(b), 1, nil
}

func newReader(r io.Reader, limit int) *Reader { return NewReader(r, lines{}, limit, nil) }

// cutAll reads a stream to its end, and returns copies of the frames.
func cutAll(r io.Reader, limit int) (got []string) {
	f := newReader(r, limit)
	for {
		data, err := f.Next()
		var large *TooLargeError
		switch {
		case errors.As(err, &large):
			got = append(got, fmt.Sprintf("too large at %d", large.Offset))
		case err != nil:
			return append(got, err.Error())
		default:
			got = append(got, strings.TrimSuffix(string(data), "\n"))
		}
	}
}

// frameOf returns an object of exactly size bytes, 9 or more, with its newline.
func frameOf(size int) string {
	return `{"a":"` + strings.Repeat("x", size-9) + `"}` + "\n"
}

func TestFrameSizesAroundBuffersAndLimit(t *testing.T) {
	const limit = 100_000
	sizes := []int{9, 10, 11, 1023, 1024, 1025, 4095, 4096, 4097, limit - 1, limit, limit + 1, 3 * limit}
	for _, edge := range []int{minBuffer, 2 * minBuffer, keepBuffer, 2 * keepBuffer} {
		sizes = append(sizes, edge-1, edge, edge+1)
	}
	for _, size := range sizes {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			big := frameOf(size)
			want := []string{`{"before":1}`, strings.TrimSuffix(big, "\n"), `{"after":1}`, "EOF"}
			if size > limit {
				want[1] = "too large at 13"
			}
			in := `{"before":1}` + "\n" + big + `{"after":1}` + "\n"
			if !cmp.Equal(want, cutAll(strings.NewReader(in), limit)) {
				t.Error("whole: not the same frames")
			}
			if !cmp.Equal(want, cutAll(iotest.HalfReader(strings.NewReader(in)), limit)) {
				t.Error("in halves: not the same frames")
			}
			if !cmp.Equal(want, cutAll(iotest.OneByteReader(strings.NewReader(in)), limit)) {
				t.Error("byte by byte: not the same frames")
			}
		})
	}
}

func TestFrameTooLargeQuotesItsBeginning(t *testing.T) {
	f := newReader(strings.NewReader(frameOf(9000)), 5000)
	_, err := f.Next()
	var large *TooLargeError
	if !errors.As(err, &large) {
		t.Fatalf("error is %v, want a TooLargeError", err)
	}
	if large.Limit != 5000 || string(large.Head) != frameOf(9000)[:TooLargeHead] {
		t.Errorf("limit %d, %d bytes of head", large.Limit, len(large.Head))
	}
	if want := "frame at byte 0 of the stream is larger than 5000 bytes (Config.MaxFrameBytes)"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestFrameErrorQuotesWhatIsThere(t *testing.T) {
	_, err := newReader(strings.NewReader("{}\n<html>"+strings.Repeat("x", 99)), 0).Next()
	must.OK(t, err)
	f := newReader(strings.NewReader("\n<html>"+strings.Repeat("x", 99)), 0)
	_, err = f.Next()
	want := `malformed frame at byte 1 of the stream: want a brace, at "<html>` + strings.Repeat("x", errorHead-6) + `"`
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}

// pieces is a reader that returns its pieces one by one.
func pieces(parts ...[]byte) io.Reader {
	readers := make([]io.Reader, len(parts))
	for i, p := range parts {
		readers[i] = bytes.NewReader(p)
	}
	return io.MultiReader(readers...)
}

// reader is a function that reads.
type reader func(p []byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

func TestFrameIsReturnedBeforeMoreIsRead(t *testing.T) {
	reads := 0
	f := newReader(reader(func(p []byte) (int, error) {
		reads++
		return copy(p, "{}\n{}\n"), nil // the second is complete too
	}), 0)
	for want := range 10 {
		if _, err := f.Next(); err != nil {
			t.Fatal(err)
		}
		if reads != want/2+1 {
			t.Fatalf("%d reads for %d frames, two in each", reads, want+1)
		}
	}
}

func TestFramesBeforeAnErrorAreReturnedFirst(t *testing.T) {
	broken := errors.New("broken")
	f := newReader(reader(func(p []byte) (int, error) { return copy(p, "{}\n{}\n{"), broken }), 0)
	for range 2 {
		if data, err := f.Next(); err != nil || string(data) != "{}\n" {
			t.Fatalf("got %q, %v", data, err)
		}
	}
	for range 2 {
		if _, err := f.Next(); !errors.Is(err, broken) {
			t.Fatalf("error %v, want the reader's", err)
		}
	}
}

func TestFrameReaderGivesUpOnAReaderThatReturnsNothing(t *testing.T) {
	f := newReader(reader(func([]byte) (int, error) { return 0, nil }), 0)
	if _, err := f.Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Fatalf("error %v, want io.ErrNoProgress", err)
	}
}

// TestFrameBufferIsKept reads 30 frames of one size. After the first ones, the buffer has the size
// that they need.
func TestFrameBufferIsKept(t *testing.T) {
	for _, c := range []struct{ size, read, limit int }{
		{500, 1 << 20, 0}, {500, 1 << 20, 3_000}, {500, 1 << 20, 10_000}, {3_000, 1, 0}, {9_000, 1, 0}, {9_000, 1_448, 0}, {40_000, 1_448, 0},
	} {
		in := strings.NewReader(strings.Repeat(frameOf(c.size), 30))
		var f *Reader
		var made []*byte
		f = newReader(reader(func(p []byte) (int, error) {
			made = append(made, &f.buf[0])
			return in.Read(p[:min(len(p), c.read)])
		}), c.limit)
		for f.err == nil {
			_, _ = f.Next()
		}
		if made = slices.Compact(made); len(made) > 6 {
			t.Errorf("frames of %d bytes, reads of %d, limit %d: %d buffers", c.size, c.read, c.limit, len(made))
		}
	}
}

// TestFrameBufferShrinks reads a frame of 10 MB, and many small frames at once. While the stream
// waits after that, the buffer must be small, because it is what a quiet watch costs.
func TestFrameBufferShrinks(t *testing.T) {
	small := frameOf(500)
	var f *Reader
	var waiting, want []int
	in := pieces([]byte(small), []byte(frameOf(10<<20)), []byte(small), []byte(strings.Repeat(small, 1000)), []byte(small), []byte(small))
	f = newReader(reader(func(p []byte) (int, error) {
		waiting = append(waiting, cap(f.buf))
		return in.Read(p)
	}), 0)
	for f.err == nil {
		_, _ = f.Next()
	}
	for _, top := range []int{16 << 20, keepBuffer, minBuffer} {
		for size := minBuffer; size <= top; size *= 2 {
			want = append(want, size)
		}
	}
	if got := slices.Compact(waiting); !errors.Is(f.err, io.EOF) || !slices.Equal(got, want) {
		t.Errorf("buffers of %d bytes, want %d; the end is %v", got, want, f.err)
	}
}

func TestFrameBufferDoesNotGrowBeyondTheLimit(t *testing.T) {
	const limit = 100_000
	f := newReader(strings.NewReader(frameOf(10*limit)+"{}"), limit)
	if _, err := f.Next(); err == nil {
		t.Fatal("no error")
	}
	if cap(f.buf) > limit+1 {
		t.Errorf("the buffer grew to %d bytes, with a limit of %d", cap(f.buf), limit)
	}
}

func TestFramesDoNotAllocate(t *testing.T) {
	const frames = 100
	stream := []byte(strings.Repeat(frameOf(5000), frames))
	in := bytes.NewReader(stream)
	f := newReader(in, 0)
	allocs := testing.AllocsPerRun(10, func() {
		in.Reset(stream)
		f.Reset(in, lines{}, 0)
		for range frames {
			if _, err := f.Next(); err != nil {
				t.Fatal(err)
			}
		}
	})
	// The count includes what goroutines of other tests allocate.
	if allocs > frames/4 {
		t.Errorf("%v allocations for %d frames", allocs, frames)
	}
}

// TestReadyLeavesTheLastFrame shows that the last frame is valid until the next call of
// Next.
func TestReadyLeavesTheLastFrame(t *testing.T) {
	f := newReader(strings.NewReader("{1}\n{2}\n"), 0)
	first, err := f.Next()
	if !f.Ready() || err != nil || string(first) != "{1}\n" {
		t.Errorf("%q, %v", first, err)
	}
}
