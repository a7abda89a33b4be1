package listwatch

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// watch reads events from a stream of frames.
type watch[T store.Object] struct {
	stream  transport.Stream
	what    string
	decoder *decoder[T]
	kind    expected
	end     error // what Next returns from now on
}

// Next implements [Watch].
func (w *watch[T]) Next() (Event[T], error) {
	if w.end != nil {
		return Event[T]{}, w.end
	}
	event, err := w.next()
	switch {
	case errors.Is(err, io.EOF):
		w.end = io.EOF
	case err != nil:
		w.end = describe("watch", w.what, err)
	}
	return event, w.end
}

func (w *watch[T]) next() (Event[T], error) {
	frame, err := w.stream.Next()
	var tooLarge *transport.FrameTooLargeError
	if errors.As(err, &tooLarge) {
		return w.lost(tooLarge), nil
	}
	if err != nil {
		return Event[T]{}, err
	}
	return w.decode(frame)
}

// Close implements [Watch].
func (w *watch[T]) Close() error { return w.stream.Close() }

// decode returns an error where the stream must end: an ERROR event, or a frame
// that is not an event.
func (w *watch[T]) decode(frame transport.Frame) (Event[T], error) {
	if typ, object, ok := splitEnvelope(frame.Data); ok {
		event := w.event(typ, object)
		// What was cut out is no JSON value where members follow the object.
		if event.Err == nil || !isSyntactic(event.Err) {
			return event, nil
		}
	}
	word, object, err := parseEnvelope(frame)
	if err != nil {
		return Event[T]{}, err
	}
	if word == "ERROR" {
		return Event[T]{}, statusError(frame.Redact(object))
	}
	typ, ok := parseType(word)
	if !ok {
		return Event[T]{}, fmt.Errorf("%w: event of the unknown type %.50q", errMalformed, frame.Redact([]byte(word)))
	}
	if typ == Bookmark {
		return bookmark[T](object)
	}
	return w.event(typ, object), nil
}

func (w *watch[T]) event(typ Type, object []byte) Event[T] {
	if err := w.kind.check(peekKind(object, false)); err != nil {
		bad := refuse(object, err)
		return Event[T]{Type: Modified, Meta: bad.Meta, Err: bad}
	}
	event := Event[T]{Type: typ}
	event.Object, event.Meta, event.Err = w.decoder.decode(object, schema.GroupVersionKind{})
	return event
}

// lost is the event of a frame that was larger than the limit. One object is
// missing; the stream is whole, and the others go on. What is known of it is what
// its first bytes say.
func (w *watch[T]) lost(tooLarge *transport.FrameTooLargeError) Event[T] {
	event := Event[T]{Type: Modified}
	if typ, object, ok := cutType(tooLarge.Head); ok {
		event.Meta = readMeta(object)
		if w.kind.check(peekKind(object, false)) == nil {
			event.Type = typ
		}
	}
	event.Err = &ObjectError{Meta: event.Meta, Err: tooLarge}
	return event
}

// bookmark reads the two things that a BOOKMARK says. Its object has the
// resource's kind and nothing else, so it is never decoded into a T.
func bookmark[T any](object []byte) (Event[T], error) {
	var partial struct {
		Metadata struct {
			ResourceVersion string            `json:"resourceVersion"`
			Annotations     map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(object, &partial, lenient); err != nil {
		return Event[T]{}, fmt.Errorf("%w: decode a bookmark: %w", errMalformed, withoutValue(err))
	}
	return Event[T]{
		Type:             Bookmark,
		Meta:             Meta{ResourceVersion: partial.Metadata.ResourceVersion},
		InitialEventsEnd: partial.Metadata.Annotations[metav1.InitialEventsAnnotationKey] == "true",
	}, nil
}

// The envelope as every API server writes it.
const (
	envelopeStart  = `{"type":"`
	envelopeMiddle = `","object":`
)

// splitEnvelope splits {"type":"ADDED","object":{...}} without parsing it: the
// frame is known to be one balanced JSON value, and the object is parsed once,
// by its decoder. Other spellings, and events without an object of the
// resource, are left to parseEnvelope.
func splitEnvelope(frame []byte) (typ Type, object []byte, ok bool) {
	inside, ok := bytes.CutSuffix(bytes.TrimSpace(frame), []byte("}"))
	if !ok {
		return 0, nil, false
	}
	return cutType(inside)
}

// cutType returns what follows the type of a frame.
func cutType(frame []byte) (typ Type, object []byte, ok bool) {
	rest, ok := bytes.CutPrefix(frame, []byte(envelopeStart))
	if !ok {
		return 0, nil, false
	}
	for typ := Added; typ <= Deleted; typ++ {
		if object, ok := bytes.CutPrefix(rest, []byte(typ.String()+envelopeMiddle)); ok {
			return typ, object, true
		}
	}
	return 0, nil, false
}

func isSyntactic(err error) bool {
	var syntactic *jsontext.SyntacticError
	return errors.As(err, &syntactic)
}

// parseEnvelope reads an envelope of any spelling and order.
func parseEnvelope(frame transport.Frame) (word string, object []byte, err error) {
	var event struct {
		Type   string         `json:"type"`
		Object jsontext.Value `json:"object"`
	}
	if err := json.Unmarshal(frame.Data, &event, lenient); err != nil {
		return "", nil, fmt.Errorf("%w: frame is not a watch event: %w (%.200q)", errMalformed, withoutValue(err), frame.Redact(frame.Data))
	}
	if event.Type == "" || len(event.Object) == 0 {
		return "", nil, fmt.Errorf("%w: a watch event needs a type and an object (%.200q)", errMalformed, frame.Redact(frame.Data))
	}
	return event.Type, event.Object, nil
}
