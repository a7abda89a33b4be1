package source

import (
	"errors"
	"fmt"
)

// ObjectError says that one object of a list or a watch could not be used.
type ObjectError struct {
	// Meta holds the parts of the object's metadata that could be read; any field may be
	// empty.
	Meta Meta

	// Err says why the object could not be used.
	Err error
}

func (e *ObjectError) Error() string {
	key := e.Meta.Key
	if key == "" {
		key = "(no readable name)"
	}
	return fmt.Sprintf("object %s at resourceVersion %q: %v", key, e.Meta.ResourceVersion, e.Err)
}

// Unwrap returns the reason.
func (e *ObjectError) Unwrap() error { return e.Err }

// ErrContinueLoop is the error for a list that would never end: a page continues at
// itself, or 10 pages in a row bring no new object.
var ErrContinueLoop error = neverEnds{}

type neverEnds struct{}

func (neverEnds) Error() string {
	return "the list would never end, because the server's continue tokens bring nothing new; list again from the start"
}

func (neverEnds) Malformed() bool { return true }

// IsMalformed reports whether err says that an answer did not come from a working API server, or that it is not the answer to the
// request: whether an error in its chain has a method Malformed that returns true. A reflector takes such an answer for a failure of
// the server and not of the connection.
func IsMalformed(err error) bool {
	var m interface{ Malformed() bool }
	return errors.As(err, &m) && m.Malformed()
}
