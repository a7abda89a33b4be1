package deltafifo

import (
	"errors"
	"fmt"
)

// ErrClosed is what Pop returns once the queue is closed and empty, and what every producer's call returns, wrapped, once
// it is closed.
var ErrClosed = errors.New("deltafifo: the queue is closed")

var errNoProcess = errors.New("deltafifo: pop: the process function is nil; nothing was taken from the queue")

// PanicError is what Pop returns when process panicked.
type PanicError struct {
	Key   string // of the entry
	Value any    // what process panicked with
	Stack []byte // where, as runtime/debug.Stack formats it
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("deltafifo: process entry %q: panic: %v", e.Key, e.Value)
}

// Unwrap returns the panic value if it is an error, so that errors.Is finds it.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
