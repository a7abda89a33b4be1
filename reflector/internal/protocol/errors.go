package protocol

import "errors"

// What a request ends with if the machine gives it up.
var (
	errTimedOut   = errors.New("the server did not end the watch at its timeout")
	errSilent     = errors.New("nothing came for too long")
	errIncomplete = errors.New("the initial events stopped before their end")
	errAsked      = errors.New("a list was asked for")
)
