package listwatch

import (
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// watch reads events from a stream of frames.
type watch[T store.Object] struct {
	stream   transport.Stream
	what     string
	decoder  *decoder[T]
	encoding *encoded // of the last frame; nil before the first one if it is not known
	kind     expected
	end      error // what Next returns from now on
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
	if err != nil {
		return w.without(err)
	}
	if err := w.chooseEncoding(); err != nil {
		return Event[T]{}, err
	}
	return w.decode(frame)
}

// without is what comes of an error in place of a frame: the end of the stream, unless
// it is about that frame alone.
func (w *watch[T]) without(err error) (Event[T], error) {
	var tooLarge *transport.FrameTooLargeError
	if !errors.As(err, &tooLarge) {
		return Event[T]{}, err
	}
	if err := w.chooseEncoding(); err != nil {
		return Event[T]{}, err
	}
	return w.lost(tooLarge), nil
}

// chooseEncoding takes the encoding that the stream says it has: a body once and for
// all, a WebSocket frame by frame.
func (w *watch[T]) chooseEncoding() error {
	mediaType := w.stream.MediaType()
	if w.encoding != nil && w.encoding.StreamMediaType() == mediaType {
		return nil
	}
	var ok bool
	if w.encoding, ok = w.decoder.stream(mediaType); !ok {
		return fmt.Errorf("%w: the server sends %q, which was not asked for", errMalformed, mediaType)
	}
	return nil
}

// Ready implements [Readier].
func (w *watch[T]) Ready() bool {
	stream, ok := w.stream.(transport.Readier)
	return ok && stream.Ready()
}

// Close implements [Watch].
func (w *watch[T]) Close() error { return w.stream.Close() }

// decode returns an error where the stream must end: an ERROR event, or a frame
// that is not an event.
func (w *watch[T]) decode(frame transport.Frame) (Event[T], error) {
	event, err := w.split(frame, false)
	if err == nil && event.Err != nil && isSyntactic(event.Err) {
		// What was cut out by a guess is no value where members follow the object.
		return w.split(frame, true)
	}
	return event, err
}

func (w *watch[T]) split(frame transport.Frame, careful bool) (Event[T], error) {
	word, object, err := w.encoding.SplitEvent(frame, careful)
	if err != nil {
		return Event[T]{}, err
	}
	if word == "ERROR" {
		return Event[T]{}, statusError(w.encoding, frame, object)
	}
	typ, ok := parseType(word)
	if !ok {
		return Event[T]{}, fmt.Errorf("%w: event of the unknown type %.50q", errMalformed, frame.Redact([]byte(word)))
	}
	if typ == Bookmark {
		return w.bookmark(object)
	}
	return w.event(typ, object), nil
}

func (w *watch[T]) event(typ Type, object []byte) Event[T] {
	if err := w.kind.check(w.encoding.Kind(object, false)); err != nil {
		bad := refuse(w.encoding, object, err)
		// Also if the event says DELETED: what was deleted is no object of this resource.
		return Event[T]{Type: Modified, Meta: bad.Meta, Err: bad}
	}
	event := Event[T]{Type: typ}
	event.Object, event.Meta, event.Err = w.decoder.decode(w.encoding, object, schema.GroupVersionKind{})
	return event
}

// bookmark reads a BOOKMARK. Its object has the resource's kind and nothing else, so
// it is never decoded into a T.
func (w *watch[T]) bookmark(object []byte) (Event[T], error) {
	version, end, err := w.encoding.Bookmark(object)
	if err != nil {
		return Event[T]{}, fmt.Errorf("%w: decode a bookmark: %w", errMalformed, err)
	}
	return Event[T]{Type: Bookmark, Meta: Meta{ResourceVersion: version}, InitialEventsEnd: end}, nil
}

// lost is the event of a frame that was larger than the limit. One object is
// missing; the stream is whole, and the others go on. What is known of it is what
// its first bytes say.
func (w *watch[T]) lost(tooLarge *transport.FrameTooLargeError) Event[T] {
	event := Event[T]{Type: Modified}
	if typ, object, ok := w.encoding.SplitHead(tooLarge.Head); ok {
		event.Meta = w.encoding.Meta(object)
		if w.kind.check(w.encoding.Kind(object, false)) == nil {
			event.Type = typ
		}
	}
	event.Err = &ObjectError{Meta: event.Meta, Err: tooLarge}
	return event
}
