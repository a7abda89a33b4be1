package listwatch

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
)

// partialKind is what a server sends where metadata alone was asked for.
const partialKind = "PartialObjectMetadata"

// expected is the kind of the objects of one page or one stream, as the server's own
// answers tell it. A Secret decodes into a ConfigMap without an error, so only its
// kind shows that a proxy or a server has mixed up two streams. The zero value learns
// it from the first object that names one.
type expected struct {
	kind    string                  // "": not known yet
	partial bool                    // metadata alone is asked for, and whole objects are taken
	learned *atomic.Pointer[string] // where an object's kind is kept for others; nil: nowhere
}

// learnList takes the kind of a list whose items come next. Only API types put it
// there, and those follow the rule that a FooList has Foos. The list of a custom
// resource has a name of its author's choice, at its end.
func (e *expected) learnList(kind string) error {
	item, ok := strings.CutSuffix(kind, "List")
	switch {
	case !ok || item == "":
		return nil // a List of anything
	case item == partialKind && !e.partial:
		return fmt.Errorf("%w: a %s instead of a list of whole objects", errMalformed, kind)
	}
	e.kind = item
	return nil
}

// check returns an error if kind, that of an object, is not the expected one. An
// object that names none is taken: items of lists do not.
func (e *expected) check(kind []byte) error {
	switch {
	case len(kind) == 0, string(kind) == e.kind:
		return nil
	case e.partial && (string(kind) == partialKind || e.kind == partialKind):
		return nil
	case string(kind) == partialKind:
		return errors.New("it is a " + partialKind + ", and whole objects were asked for")
	case e.kind != "":
		return fmt.Errorf("it is %s, and the objects of this resource are %s", word(kind), word([]byte(e.kind)))
	}
	learned := string(kind)
	e.kind = learned
	if e.learned != nil {
		e.learned.Store(&learned)
	}
	return nil
}

// word quotes what looks like a kind, and nothing else: it is the server's.
func word(kind []byte) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	if len(kind) > 63 || len(bytes.Trim(kind, letters)) > 0 {
		return "of another kind"
	}
	return "of kind " + string(kind)
}
