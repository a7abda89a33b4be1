package protocol

import "errors"

// The errors of requests that the machine gives up.
var (
	errTimedOut   = errors.New("the server did not end the watch at its timeout")
	errIdle       = errors.New("nothing came for too long")
	errIncomplete = errors.New("the initial events stopped before their end")
	errRequested  = errors.New("a list was asked for")
)

// ErrVerification is in the error of a ListProblem if the list of a verification failed. The copy is kept in step all the same.
var ErrVerification = errors.New("verify")
