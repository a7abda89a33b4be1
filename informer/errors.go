package informer

import (
	"errors"
	"fmt"
)

// ErrStarted is what a second [Informer.Run] returns: an informer runs once.
var ErrStarted = errors.New("informer: Run was called before; make a new informer")

// ErrStopped is what [Informer.AddHandler], [Informer.WaitFor] and [Informer.Relist] return, wrapped, when Run has ended or
// is about to.
var ErrStopped = errors.New("the informer has stopped")

// PanicError says that a callback panicked, or ended its goroutine with runtime.Goexit.
type PanicError struct {
	Handler  string // its name
	Callback string // "OnAdd", "OnUpdate" or "OnDelete"
	Key      string // of the object
	Value    any    // what it panicked with
	Stack    []byte // where, as runtime/debug.Stack formats it
}

func (e *PanicError) Error() string {
	handler := "handler"
	if e.Handler != "" {
		handler = fmt.Sprintf("handler %q", e.Handler)
	}
	return fmt.Sprintf("informer: %s: %s of %q: panic: %v", handler, e.Callback, e.Key, e.Value)
}

// Unwrap returns the panic value if it is an error, so that errors.Is finds it.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// errGoexit is the value of a PanicError for a callback that did not return and did not panic.
var errGoexit = errors.New("the callback called runtime.Goexit (t.FailNow does); its handler is removed")
