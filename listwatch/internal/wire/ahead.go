package wire

import (
	"io"
	"runtime"
	"sync"
)

const (
	// aheadAfter is how much of a stream is read by its consumer alone. A small list is
	// over by then.
	aheadAfter = 256 << 10

	// aheadBytes bounds what has been read and not been used yet.
	aheadBytes = 256 << 10
)

// Ahead reads a stream on a goroutine of its own, while what has come is being decoded:
// decryption, decompression and the kernel's copying take a fifth of the time of a list.
// Bytes come in order, and every one of them before the stream's error. With one CPU,
// and for short streams, there is no goroutine.
//
// It is for one consumer, which calls Close in the end.
type Ahead struct {
	r      io.ReadCloser
	direct int // bytes read without the goroutine

	mu      sync.Mutex
	changed sync.Cond
	ring    []byte // nil while there is no goroutine
	start   int    // of what can be read
	size    int    // of what can be read; the rest belongs to the goroutine
	err     error  // of r, after what is in the ring
	closed  bool
	done    chan struct{} // closed when the goroutine has ended
}

// NewAhead returns an Ahead that reads r.
func NewAhead(r io.ReadCloser) *Ahead {
	a := &Ahead{r: r}
	a.changed.L = &a.mu
	return a
}

// Read implements io.Reader.
func (a *Ahead) Read(p []byte) (int, error) {
	if a.ring == nil {
		if a.direct < aheadAfter || runtime.GOMAXPROCS(0) == 1 {
			n, err := a.r.Read(p)
			a.direct += n
			if err != nil {
				a.direct = 0 // there is nothing ahead
			}
			return n, err
		}
		a.ring, a.done = make([]byte, aheadBytes), make(chan struct{})
		go a.run()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.size == 0 && a.err == nil {
		a.changed.Wait()
	}
	if a.size == 0 {
		return 0, a.err
	}
	n := copy(p, a.ring[a.start:min(a.start+a.size, len(a.ring))])
	a.start = (a.start + n) % len(a.ring)
	a.size -= n
	a.changed.Signal()
	return n, nil
}

// run fills the ring until the stream ends.
func (a *Ahead) run() {
	defer close(a.done)
	for {
		free := a.free()
		if free == nil {
			return
		}
		n, err := a.r.Read(free)
		a.mu.Lock()
		a.size += n
		a.err = err
		a.changed.Signal()
		a.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// free waits for a part of the ring that can be filled; nil if nobody reads any more.
func (a *Ahead) free() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.size == len(a.ring) && !a.closed {
		a.changed.Wait()
	}
	if a.closed {
		return nil
	}
	end := (a.start + a.size) % len(a.ring)
	if end < a.start {
		return a.ring[end:a.start]
	}
	return a.ring[end:]
}

// Close closes the stream, which frees a Read that waits, and waits for the goroutine.
func (a *Ahead) Close() error {
	err := a.r.Close()
	if a.done != nil {
		a.mu.Lock()
		a.closed = true
		a.changed.Signal()
		a.mu.Unlock()
		<-a.done
	}
	return err
}
