package transport

import (
	"errors"
	"io"
)

// Frame is one message of a watch: the bytes of one event.
type Frame struct {
	// Data is valid until the next call of Next. For JSON it is one object, from
	// its first brace to its last.
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
	// two frames; ErrClosed; the context's error; a [FrameError]; a [CloseError]. The error stays:
	// every later call returns it, except after a [FrameTooLargeError], which
	// concerns one frame only.
	Next() (Frame, error)

	// Close ends the stream, and a pending Next with it.
	Close() error

	// MediaType is the format of the frames. Over a WebSocket, whose handshake names
	// none, it is that of the last frame if several were asked for, and before the
	// first one "".
	MediaType() string
}

// jsonStream is a chunked body of concatenated JSON objects.
type jsonStream struct {
	frames    *frameReader
	body      io.Closer
	exchange  *exchange
	mediaType string
}

func newJSONStream(resp *Response, limit int) *jsonStream {
	frames := newFrameReader(resp.Body, limit)
	frames.quote = resp.exchange.quote
	return &jsonStream{
		frames:    frames,
		body:      resp.Body,
		exchange:  resp.exchange,
		mediaType: resp.MediaType,
	}
}

func (s *jsonStream) Next() (Frame, error) {
	if ended := s.exchange.ended(); ended != nil {
		return Frame{}, s.exchange.fail(ended)
	}
	data, err := s.frames.next()
	var known *RequestError
	switch {
	case err == nil:
		return Frame{Data: data, exchange: s.exchange}, nil
	case err == io.EOF, errors.As(err, &known): //nolint:errorlint // only the bare one is a clean end
		return Frame{}, err // the body's own errors name the request already
	}
	return Frame{}, s.exchange.fail(err)
}

// Close reports nothing: a watch is cut off in its middle, as a rule, and what the
// body says of that is of no use to the caller.
func (s *jsonStream) Close() error {
	_ = s.body.Close()
	return nil
}

func (s *jsonStream) MediaType() string { return s.mediaType }
