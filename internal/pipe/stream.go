package pipe

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// stream is one direction of a connection.
type stream struct {
	over chan struct{} // closed when the writer has ended the stream

	mu       sync.Mutex
	changed  sync.Cond // signals every change of a field below
	pieces   [][]byte
	readers  int   // how many reads wait
	ended    error // a read returns it after the last piece; nil if more can come
	closed   error // a read returns it at once
	deadline time.Time
	timer    *time.Timer
}

func newStream() *stream {
	s := &stream{over: make(chan struct{})}
	s.changed.L = &s.mu
	return s
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.closed != nil:
			return 0, s.closed
		case !s.deadline.IsZero() && !time.Now().Before(s.deadline):
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case len(s.pieces) > 0:
			n := copy(p, s.pieces[0])
			if s.pieces[0] = s.pieces[0][n:]; len(s.pieces[0]) == 0 {
				s.pieces = s.pieces[1:]
			}
			return n, nil
		case s.ended != nil:
			return 0, s.ended
		}
		s.readers++
		s.changed.Broadcast()
		s.changed.Wait()
		s.readers--
	}
}

var errBrokenPipe = &net.OpError{Op: "write", Net: "memory", Err: os.NewSyscallError("write", syscall.EPIPE)}

func (s *stream) write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case errors.Is(s.ended, io.EOF):
		return 0, net.ErrClosed // the writer itself has closed it
	case s.ended != nil, s.closed != nil:
		return 0, errBrokenPipe
	}
	if len(p) > 0 {
		s.pieces = append(s.pieces, append([]byte(nil), p...))
		s.changed.Broadcast()
	}
	return len(p), nil
}

// settle waits until a read has nothing to read. It returns false if nobody will read again, or if
// ctx has ended.
func (s *stream) settle(ctx context.Context) bool {
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.closed != nil, ctx.Err() != nil:
			return false
		case len(s.pieces) == 0 && s.readers > 0:
			return true
		}
		s.changed.Wait()
	}
}

// end ends the stream for the writer. A second call changes nothing.
func (s *stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil {
		s.ended = err
		close(s.over)
	}
	s.changed.Broadcast()
}

// close ends the stream for the reader.
func (s *stream) close(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = err
	if s.timer != nil {
		s.timer.Stop()
	}
	s.changed.Broadcast()
}

func (s *stream) setDeadline(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if !t.IsZero() {
		s.timer = time.AfterFunc(time.Until(t), func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changed.Broadcast()
		})
	}
	s.changed.Broadcast()
}
