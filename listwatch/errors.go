package listwatch

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/transport"
)

// ObjectError says that one object of a list or a watch could not be used.
type ObjectError struct {
	// Meta is what could be read of the object; any part of it may be empty.
	Meta Meta

	// Err is the reason.
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

// ErrObjectTooLarge is the error for an object of a list that is longer than
// the reader is willing to hold.
var ErrObjectTooLarge = errors.New("object is larger than 64 MiB")

// ErrContinueLoop is the error for a server whose pages would never end: a continue
// token comes back, or page after page is empty.
var ErrContinueLoop = errors.New("the server's continue tokens lead in a circle; restart the list")

// errMalformed marks the errors of this package that [IsMalformed] knows.
var errMalformed = errors.New("malformed answer")

// ErrMalformed is what an [Encoding] wraps in its errors about lists and events that
// are none, for [IsMalformed].
var ErrMalformed = errMalformed

// IsMalformed reports whether err says that what came is no answer of an API
// server: HTML of a proxy, JSON that breaks off in the wrong place, an event
// that is none. A connection that was cut in the middle is not malformed.
func IsMalformed(err error) bool {
	var (
		frame     *transport.FrameError
		content   *transport.UnexpectedContentError
		syntactic *jsontext.SyntacticError
		semantic  *json.SemanticError
	)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return false
	case errors.Is(err, errMalformed), errors.Is(err, ErrObjectTooLarge), errors.Is(err, ErrContinueLoop):
		return true
	}
	return errors.As(err, &frame) || errors.As(err, &content) || errors.As(err, &syntactic) || errors.As(err, &semantic)
}

func isSyntactic(err error) bool {
	var syntactic *jsontext.SyntacticError
	return errors.As(err, &syntactic)
}

// withoutValue returns err without the JSON value that json's own error quotes: of a
// Secret it may be the secret. Where in the object it stands is still said.
func withoutValue(err error) error {
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		semantic.JSONValue = nil
	}
	return err
}

// describe says what was being done. A Status that came inside a stream knows
// its message only; it gets its code and reason, as transport gives them to the
// others: "watch configmaps: 410 Expired: too old resource version: 160 (400)".
func describe(verb, what string, err error) error {
	if status, ok := err.(*apierrors.StatusError); ok { //nolint:errorlint // a wrapped one has a text of its own
		if word := codeAndReason(status.ErrStatus); word != "" {
			return fmt.Errorf("%s %s: %s: %w", verb, what, word, err)
		}
	}
	return fmt.Errorf("%s %s: %w", verb, what, err)
}
