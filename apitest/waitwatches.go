package apitest

import (
	"context"
	"errors"
	"fmt"
)

// errClosed is in the error of WaitForWatches if the server was closed.
var errClosed = errors.New("the server is closed")

// WaitForWatches waits until at least n watches of a resource ("pods", "deployments.apps") are
// open: the server has sent the head of the answer, and sends every change from now on. So a test
// that waits, and then makes a change or a fault, knows that a watch will see it. A watch that was
// cut or told to end does not count, nor does one whose request had the header X-Relist-Faults:
// off. All replicas count together.
//
// If ctx ends or the server is closed first, the error says how many watches are open, and wraps
// the cause of ctx. If the server has no such resource, WaitForWatches returns an error at once.
func (s *Server) WaitForWatches(ctx context.Context, resource string, n int) error {
	if s.storage.tables[resource] == nil {
		return fmt.Errorf("wait for watches of %q: the server has no resource of this name; write it as \"pods\" or \"deployments.apps\"", resource)
	}
	for {
		open, changed := s.faults.watches(resource)
		if open >= n {
			return nil
		}
		var err error
		select {
		case <-changed:
			continue
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-s.done:
			err = errClosed
		}
		return fmt.Errorf("wait for %s of %s, %d open: %w", counted(n, "watch", "watches"), resource, open, err)
	}
}

// watches returns how many watches of a resource are open, and a channel that is closed when
// another one is.
func (f *faults) watches(resource string) (int, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for st := range f.streams { // they are counted: the order does not matter
		if st.resource == resource && st.isOpen() {
			n++
		}
	}
	if f.opened == nil {
		f.opened = make(chan struct{})
	}
	return n, f.opened
}

// isOpen reports whether the client is sent what happens.
func (st *stream) isOpen() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.open && !st.ended && !st.spared && (st.cut == nil || st.left > 0)
}

// markOpen says that the head of the answer was sent.
func (f *faults) markOpen(st *stream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	st.mu.Lock()
	st.open = true
	st.mu.Unlock()
	if f.opened != nil {
		close(f.opened)
		f.opened = nil
	}
}
