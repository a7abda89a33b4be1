package wire

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

// stream is n bytes that repeat in no power of two, then an error.
func stream(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i % 251)
	}
	return b
}

// Every byte comes, in order, and then the error.
func TestAhead(t *testing.T) {
	broken := errors.New("broken")
	for _, n := range []int{0, 1, aheadAfter, aheadAfter + 1, aheadAfter + 5*aheadBytes + 7} {
		for name, split := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader, "error with the last bytes": iotest.DataErrReader,
		} {
			a := NewAhead(io.NopCloser(io.MultiReader(split(bytes.NewReader(stream(n))), iotest.ErrReader(broken))))
			got, err := io.ReadAll(iotest.HalfReader(a))
			if !bytes.Equal(got, stream(n)) || !errors.Is(err, broken) {
				t.Errorf("%s: %d bytes of %d, error %v", name, len(got), n, err)
			}
			if _, err := a.Read(make([]byte, 1)); !errors.Is(err, broken) {
				t.Errorf("%s: error %v afterwards", name, err)
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// It reads no further ahead than its bound, and Close frees it wherever it waits.
func TestAheadIsBounded(t *testing.T) {
	if runtime.GOMAXPROCS(0) == 1 {
		old := runtime.GOMAXPROCS(2)
		defer runtime.GOMAXPROCS(old)
	}
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		written := 0
		go func() {
			for {
				n, err := w.Write(stream(1 << 10))
				written += n
				if err != nil {
					return
				}
			}
		}()
		a := NewAhead(r)
		if _, err := io.ReadFull(a, make([]byte, aheadAfter+1)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the ring is full
		if written > aheadAfter+aheadBytes+2<<10 {
			t.Errorf("%d bytes were taken", written)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		a := NewAhead(r)
		go func() { _, _ = w.Write(stream(aheadAfter + 1)) }()
		if _, err := io.ReadFull(a, make([]byte, aheadAfter+1)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // it waits for more of the stream
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
}
