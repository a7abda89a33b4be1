package transport

import (
	"errors"
	"io"
)

// Frame is one message of a watch: the bytes of one event.
type Frame struct {
	// Data is valid until the next call of Next. For JSON it is one object, from
	// its first brace to its last; for protobuf one message, without its length; for
	// CBOR one data item.
	Data []byte

	exchange *exchange // nil in a Frame that another package made
}

// Redact returns text, which is some of Data, without the credential that the
// request was sent with, so that an error may quote it: a debugging proxy may have
// sent it back. Redact first and cut afterwards. It may return text itself.
func (f Frame) Redact(text []byte) []byte {
	if f.exchange == nil {
		return text
	}
	return f.exchange.redact(text)
}

// Stream is a watch. It is pulled by one goroutine at a time; Close may be called
// by any, at any time, more than once.
type Stream interface {
	// Next returns the next frame as soon as its last byte has arrived. It waits
	// until then, or until the stream is closed or its context ends.
	//
	// At the end it returns io.EOF if the server ended the watch between two
	// frames, as it does when the watch's timeout is over. Anything else is a
	// [RequestError]: io.ErrUnexpectedEOF if the connection was cut, even between
	// two frames; ErrClosed; the context's error; a [FrameError]; a [CloseError]. The
	// error stays: every later call returns it, except after a [FrameTooLargeError],
	// which concerns one frame only.
	Next() (Frame, error)

	// Close ends the stream, and a pending Next with it.
	Close() error

	// MediaType is the format of the frames. Over a WebSocket, whose handshake names
	// none, it is that of the last frame if several were asked for, and before the
	// first one "".
	MediaType() string
}

// Readier is implemented by a [Stream] that may have more than one frame in memory, as
// one over a chunked body has: who works off several at once need not wait for any.
type Readier interface {
	// Ready reports whether Next is known to return without waiting for the server. It
	// reads nothing, and leaves the last frame valid. It is called by whoever calls Next.
	Ready() bool
}

// framer cuts a stream of bytes into frames. next returns the next one, valid until the
// next call. It returns io.EOF at an end between two frames, and reads no further than
// it must. Its errors stay, except a [FrameTooLargeError]. ready reports whether next is
// known to return without reading.
type framer interface {
	next() ([]byte, error)
	ready() bool
}

// framerOf makes the framer for a media type; ok is false if it is none of a watch. A
// frame may have limit bytes; 0 is unlimited.
func framerOf(mediaType string, r io.Reader, limit int, quote quoteFunc) (f framer, ok bool) {
	switch mediaType {
	case jsonMediaType:
		f := newFrameReader(r, limit)
		f.quote = quote
		return f, true
	case protobufMediaType:
		f := newLengthReader(r, limit)
		f.quote = quote
		return f, true
	case cborStreamMediaType:
		f := newCBORReader(r, limit)
		f.quote = quote
		return f, true
	}
	return nil, false
}

// bodyStream is a body of frames.
type bodyStream struct {
	frames    framer
	body      io.Closer
	exchange  *exchange
	mediaType string
}

// newBodyStream returns the frames of a response. Those of a media type that is not
// known here cannot be found.
func newBodyStream(resp *Response, limit int) (Stream, error) {
	frames, ok := framerOf(resp.MediaType, resp.Body, limit, resp.exchange.quote)
	if !ok {
		return nil, resp.UnexpectedContent()
	}
	return &bodyStream{
		frames:    frames,
		body:      resp.Body,
		exchange:  resp.exchange,
		mediaType: resp.MediaType,
	}, nil
}

func (s *bodyStream) Next() (Frame, error) {
	if ended := s.exchange.ended(); ended != nil {
		return Frame{}, s.exchange.fail(ended)
	}
	data, err := s.frames.next()
	if err != nil {
		return Frame{}, s.failed(err)
	}
	return Frame{Data: data, exchange: s.exchange}, nil
}

// failed returns an error of the framer's with the request in it.
func (s *bodyStream) failed(err error) error {
	var known *RequestError
	if err == io.EOF || errors.As(err, &known) { //nolint:errorlint // only the bare one is a clean end
		return err // the body's own errors name the request already
	}
	return s.exchange.fail(err)
}

// Ready implements [Readier].
func (s *bodyStream) Ready() bool { return s.frames.ready() }

// Close reports nothing: a watch is cut off in its middle, as a rule, and what the
// body says of that is of no use to the caller.
func (s *bodyStream) Close() error {
	_ = s.body.Close()
	return nil
}

func (s *bodyStream) MediaType() string { return s.mediaType }
