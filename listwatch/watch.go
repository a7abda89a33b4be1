package listwatch

import (
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/frames"
)

// watch reads events from a stream of frames.
type watch[T object.Object] struct {
	stream   transport.Stream
	what     string
	decoder  *decoder[T]
	encoding *encoded // of the last frame; nil before the first frame of a WebSocket
	kind     expected
	learn    func(kind expected) // is told the kind that an object has named; may be nil
	shard    *shard              // nil: any object
	end      error               // what Next returns from now on
}

// Next implements [source.Watch].
func (w *watch[T]) Next() (source.Event[T], error) {
	if w.end != nil {
		return source.Event[T]{}, w.end
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

func (w *watch[T]) next() (source.Event[T], error) {
	frame, err := w.stream.Next()
	if err != nil {
		return w.without(err)
	}
	if err := w.chooseEncoding(); err != nil {
		return source.Event[T]{}, err
	}
	return w.decode(frame)
}

// without handles an error in place of a frame. If the error concerns that frame
// alone, without returns an event for it. Otherwise it returns the error, which ends
// the stream.
func (w *watch[T]) without(err error) (source.Event[T], error) {
	var tooLarge *frames.TooLargeError
	if !errors.As(err, &tooLarge) {
		return source.Event[T]{}, err
	}
	if err := w.chooseEncoding(); err != nil {
		return source.Event[T]{}, err
	}
	return w.lost(tooLarge), nil
}

// chooseEncoding sets the encoding to the one that the stream reports. A body has
// one encoding; a WebSocket may change its encoding at each frame.
func (w *watch[T]) chooseEncoding() error {
	mediaType := w.stream.MediaType()
	if w.encoding != nil && w.encoding.StreamMediaType() == mediaType {
		return nil
	}
	if w.encoding = w.decoder.withStreamMediaType(mediaType); w.encoding == nil {
		return fmt.Errorf("%w: the server sends %q, which was not asked for", errMalformed, mediaType)
	}
	return nil
}

// Ready implements [source.Readier]. A stream over a WebSocket has no such method.
func (w *watch[T]) Ready() bool {
	stream, ok := w.stream.(source.Readier)
	return ok && stream.Ready()
}

// Close implements [source.Watch].
func (w *watch[T]) Close() error {
	return w.stream.Close()
}

// decode returns an error if the stream must end, because the frame is an ERROR
// event or not an event at all.
func (w *watch[T]) decode(frame transport.Frame) (source.Event[T], error) {
	kind := w.kind
	event, raw, err := w.split(frame, false)
	if err == nil && event.Err != nil && !w.encoding.Valid(raw) {
		// The guess took everything up to the frame's end for the object, which is wrong if other
		// members follow it.
		w.kind = kind // one event tells its kind once
		event, _, err = w.split(frame, true)
	}
	return event, err
}

func (w *watch[T]) split(frame transport.Frame, careful bool) (event source.Event[T], raw []byte, err error) {
	word, raw, err := w.encoding.SplitEvent(frame.Data, careful)
	if err != nil {
		return event, nil, fmt.Errorf("%w: %w (%.200q)", errMalformed, err, frame.Redact(frame.Data))
	}
	if word == "ERROR" {
		return event, nil, statusError(w.encoding, frame, raw)
	}
	typ, ok := parseType(word)
	if !ok {
		return event, nil, fmt.Errorf("%w: event of the unknown type %.50q", errMalformed, frame.Redact([]byte(word)))
	}
	if typ == object.Bookmark {
		event, err = w.bookmark(raw)
		return event, raw, err
	}
	event = w.event(typ, raw)
	return event, raw, w.shard.check(event.Meta)
}

func (w *watch[T]) event(typ object.EventType, raw []byte) source.Event[T] {
	kind := w.encoding.Kind(raw, false)
	if err := w.kind.suspect(kind); err != nil {
		bad := refuse(w.encoding, raw, err)
		// Also if the event says DELETED, because an object of this resource was not deleted.
		return source.Event[T]{Type: object.Modified, Meta: bad.Meta, Err: bad}
	}
	event := source.Event[T]{Type: typ}
	event.Object, event.Meta, event.Err = w.decoder.decode(w.encoding, raw, schema.GroupVersionKind{})
	if event.Err == nil && w.kind.learn(kind) && w.learn != nil {
		w.learn(w.kind)
	}
	return event
}

// bookmark reads a BOOKMARK. Its object contains little more than a resourceVersion, so bookmark
// does not decode it into a T.
func (w *watch[T]) bookmark(raw []byte) (source.Event[T], error) {
	version, end, err := w.encoding.Bookmark(raw)
	if err != nil {
		return source.Event[T]{}, fmt.Errorf("%w: decode a bookmark: %w", errMalformed, err)
	}
	return source.Event[T]{Type: object.Bookmark, Meta: object.Meta{ResourceVersion: version}, InitialEventsEnd: end}, nil
}

// lost returns the event for a frame that was larger than the limit. One object is lost, and the
// stream continues with the others. The frame's first bytes tell which object it is, as far as they
// contain it.
func (w *watch[T]) lost(tooLarge *frames.TooLargeError) source.Event[T] {
	event := source.Event[T]{Type: object.Modified}
	word, raw, _ := w.encoding.SplitEvent(tooLarge.Head, false) // the bytes were cut off, so an error is expected
	if typ, ok := parseType(word); ok && typ != object.Bookmark && len(raw) > 0 {
		event.Meta = w.encoding.Identify(raw).Meta()
		if w.kind.check(w.encoding.Kind(raw, false)) == nil {
			event.Type = typ
		}
	}
	event.Err = &source.ObjectError{Meta: event.Meta, Err: tooLarge}
	return event
}

// parseType is the inverse of object.EventType.String.
func parseType(word string) (object.EventType, bool) {
	for t := object.Added; t <= object.Bookmark; t++ {
		if t.String() == word {
			return t, true
		}
	}
	return 0, false
}
