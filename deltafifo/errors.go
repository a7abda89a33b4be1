package deltafifo

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrClosed is the error of Pop if the queue is closed and empty. The producer's calls return an error that wraps it if
// the queue is closed.
var ErrClosed = errors.New("deltafifo: the queue is closed")

var errNoNumber = errors.New("want a decimal number, as a server gave it")

var errNoProcess = errors.New("deltafifo: pop: the process function is nil; nothing was taken from the queue")

// PanicError is the error of Pop if process panicked. If [Known] panicked, the producer's call returns an error that
// wraps it.
type PanicError struct {
	Key   string // of the entry, or empty if there was none
	Value any    // what the code panicked with
	Stack []byte // of the panic, as runtime/debug.Stack formats it
}

func newPanicError(key string, value any) *PanicError {
	return &PanicError{Key: key, Value: value, Stack: debug.Stack()}
}

func (e *PanicError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("panic: %v", e.Value)
	}
	return fmt.Sprintf("process %q: panic: %v", e.Key, e.Value)
}

// Unwrap returns the panic value if it is an error, so that errors.Is finds it.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// guard calls f, which runs user code. If f panics, guard returns the panic as an error.
func guard(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError("", v)
		}
	}()
	f()
	return nil
}
