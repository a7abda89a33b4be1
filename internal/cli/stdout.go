package cli

import (
	"io"
	"sync"
)

// stdout keeps the first error of an output, because cobra ignores errors when it
// prints, for example, help.
type stdout struct {
	out io.Writer

	mu  sync.Mutex
	err error
}

func (s *stdout) Write(b []byte) (int, error) {
	n, err := s.out.Write(b)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.err == nil {
			s.err = err
		}
	}
	return n, err
}

// Unwrap returns the output itself, which may be a terminal.
func (s *stdout) Unwrap() io.Writer { return s.out }

// failed returns the first error.
func (s *stdout) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
