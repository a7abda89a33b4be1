package informer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/store"
)

// PanicError says that a callback or an observer panicked, or that a callback ended its goroutine with runtime.Goexit.
type PanicError struct {
	Handler  string // the name of the handler or of the observer
	Callback string // "OnAdd", "OnUpdate", "OnDelete", "OnSynced", "Filter" or "observer"
	Key      string // of the object; empty for OnSynced
	Value    any    // what it panicked with
	Stack    []byte // where, as runtime/debug.Stack formats it
}

func (e *PanicError) Error() string {
	if e.Callback == observerCallback {
		return fmt.Sprintf("informer: observer %q of %q: panic: %v", e.Handler, e.Key, e.Value)
	}
	handler := "handler"
	if e.Handler != "" {
		handler = fmt.Sprintf("handler %q", e.Handler)
	}
	if e.Key == "" {
		return fmt.Sprintf("informer: %s: %s: panic: %v", handler, e.Callback, e.Value)
	}
	return fmt.Sprintf("informer: %s: %s of %q: panic: %v", handler, e.Callback, e.Key, e.Value)
}

// Unwrap returns the panic value if it is an error, so that errors.Is finds it.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// panicked reports whether an error says that code of the program has panicked.
func panicked(err error) bool {
	var callback *PanicError
	var index *store.IndexError
	var getter *deltafifo.PanicError
	return errors.As(err, &callback) || errors.As(err, &index) || errors.As(err, &getter)
}

// failable returns a context that fail ends, and a function that returns what a Run has to return: a panic that fail was called with,
// because nothing else tells it; otherwise ctx.Err(); otherwise the first error that fail was called with, except errCut.
func failable(ctx context.Context) (inner context.Context, fail context.CancelCauseFunc, result func() error) {
	inner, cancel := context.WithCancelCause(ctx)
	var first atomic.Pointer[error]
	fail = func(err error) {
		if panicked(err) || inner.Err() == nil && !errors.Is(err, errCut) {
			first.CompareAndSwap(nil, &err)
		}
		cancel(err)
	}
	result = func() error {
		if err := first.Load(); err != nil && (ctx.Err() == nil || panicked(*err)) {
			return *err
		}
		return ctx.Err()
	}
	return inner, fail, result
}

// errGoexit is the value of a PanicError for a callback that did not return and did not panic.
var errGoexit = errors.New("the callback called runtime.Goexit (t.FailNow does); its handler is removed")

// reports holds the problems that wait for a call of Options.Problem, in the order of the first problem of each key. For each key
// it keeps the latest problem only, so that a slow Problem costs memory for each object and not for each event.
type reports struct {
	mu      sync.Mutex
	keys    []string
	latest  map[string]error
	telling bool // a goroutine is in tell
	ended   bool
}

// add keeps a report. It returns true if the caller has to start tell.
func (r *reports) add(key string, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.latest == nil {
		r.latest = map[string]error{}
	}
	if _, waits := r.latest[key]; !waits {
		r.keys = append(r.keys, key)
	}
	r.latest[key] = err
	if r.telling {
		return false
	}
	r.telling = true
	return true
}

// tell calls problem with one report after the other, until there is none. problem may end the goroutine.
func (r *reports) tell(problem func(error)) {
	returned := false
	defer func() {
		if !returned {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.telling = false // the next report begins a new goroutine
		}
	}()
	for err := r.take(); err != nil; err = r.take() {
		problem(err)
	}
	returned = true
}

// take removes the oldest report. If there is none, tell ends.
func (r *reports) take() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.keys) == 0 || r.ended {
		r.telling, r.keys, r.latest = false, nil, nil
		return nil
	}
	key := r.keys[0]
	r.keys = r.keys[1:]
	err := r.latest[key]
	delete(r.latest, key)
	return err
}

// end drops the reports that wait.
func (r *reports) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}
