package deltafifo

import "errors"

// ErrClosed is the error of Pop if the queue is closed and empty. The producer's calls return an error that wraps it if
// the queue is closed.
var ErrClosed = errors.New("deltafifo: the queue is closed")

var errNoNumber = errors.New("want a decimal number, as a server gave it")

var errNoProcess = errors.New("deltafifo: pop: the process function is nil; nothing was taken from the queue")
