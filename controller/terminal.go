package controller

import "errors"

// Terminal returns an error that [Reconcile] returns if another try would fail as well, for example
// because a field of the object is wrong. The key is not tried again until something changes, or
// until after has passed, if that is positive. An error that wraps this one has the same effect.
//
// Otherwise it is a failure like any other: it is counted and logged, and the key fails until a
// call succeeds. errors.Is and errors.As find err. Terminal(nil) is nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{err}
}

type terminalError struct{ error }

func (e *terminalError) Unwrap() error { return e.error }

func isTerminal(err error) bool {
	var terminal *terminalError
	return errors.As(err, &terminal)
}
