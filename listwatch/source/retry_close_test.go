package source

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
)

// taps opens streams that deliver one event and then wait until they are closed.
type taps struct {
	script
	opened, closed atomic.Int32
	meanwhile      func() // called while a stream is being opened
}

type tap struct {
	taps   *taps
	given  bool
	hungUp chan struct{}
}

func (s *taps) Watch(context.Context, metav1.ListOptions) (Watch[string], error) {
	s.opened.Add(1)
	if s.meanwhile != nil {
		s.meanwhile()
	}
	return &tap{taps: s, hungUp: make(chan struct{})}, nil
}

func (s *tap) Next() (Event[string], error) {
	if !s.given {
		s.given = true
		return at("11"), nil
	}
	<-s.hungUp
	return Event[string]{}, errors.New("hung up")
}

// Close panics if it is called twice, as a Watch may do.
func (s *tap) Close() error {
	s.taps.closed.Add(1)
	close(s.hungUp)
	return nil
}

func TestRetryWatcherClosesItsStream(t *testing.T) {
	for name, test := range map[string]struct {
		end     func(w *RetryWatcher[string], cancel context.CancelFunc)
		waiting bool // Next is, when the end comes
	}{
		"Close":                        {func(w *RetryWatcher[string], _ context.CancelFunc) { _ = w.Close() }, false},
		"Close twice":                  {func(w *RetryWatcher[string], _ context.CancelFunc) { _, _ = w.Close(), w.Close() }, false},
		"the context ends":             {func(_ *RetryWatcher[string], cancel context.CancelFunc) { cancel() }, false},
		"Close, Next waits":            {func(w *RetryWatcher[string], _ context.CancelFunc) { _ = w.Close() }, true},
		"the context ends, Next waits": {func(_ *RetryWatcher[string], cancel context.CancelFunc) { cancel() }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				lw := &taps{}
				w, err := NewRetryWatcher(ctx, lw, metav1.ListOptions{ResourceVersion: "10"}, RetryOptions{})
				must.OK(t, err)
				if _, err := w.Next(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				next := func() {
					_, err := w.Next()
					ended <- err
				}
				if test.waiting {
					go next()
					synctest.Wait()
				}
				test.end(w, cancel)
				synctest.Wait()
				if opened, closed := lw.opened.Load(), lw.closed.Load(); opened != 1 || closed != 1 {
					t.Errorf("opened %d, closed %d", opened, closed)
				}
				if !test.waiting {
					go next()
				}
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("Next returned %v", err)
				}
			})
		})
	}
}

// TestRetryWatcherClosesAStreamThatComesTooLate closes the watcher while a
// ListWatcher that ignores its context is opening a stream.
func TestRetryWatcherClosesAStreamThatComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw := &taps{}
		w, err := NewRetryWatcher(t.Context(), lw, metav1.ListOptions{ResourceVersion: "10"}, RetryOptions{})
		must.OK(t, err)
		lw.meanwhile = func() { _ = w.Close() }
		if _, err := w.Next(); !errors.Is(err, context.Canceled) {
			t.Errorf("Next returned %v", err)
		}
		if opened, closed := lw.opened.Load(), lw.closed.Load(); opened != 1 || closed != 1 {
			t.Errorf("opened %d, closed %d", opened, closed)
		}
	})
}
