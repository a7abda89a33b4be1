package protocol

import "errors"

// The errors of requests that the machine gives up.
var (
	errTimedOut   = errors.New("the server did not end the watch at its timeout")
	errSilent     = errors.New("nothing came for too long")
	errIncomplete = errors.New("the initial events stopped before their end")
	errAsked      = errors.New("a list was asked for")
)
