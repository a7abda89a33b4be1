package transport

import (
	"context"
	"errors"
	"io"
	"sync"
)

// Frame is one message of a watch: the bytes of one event.
type Frame struct {
	// Data is valid until the next call of Next. For JSON it is one object, from
	// its first brace to its last.
	Data []byte
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
	// two frames; ErrClosed; the context's error; a [FrameError]. The error stays:
	// every later call returns it, except after a [FrameTooLargeError], which
	// concerns one frame only.
	Next() (Frame, error)

	// Close ends the stream, and a pending Next with it.
	Close() error

	// MediaType is the format of the frames.
	MediaType() string
}

// jsonStream is a chunked body of concatenated JSON objects.
type jsonStream struct {
	frames    *frameReader
	body      io.ReadCloser
	mediaType string
	op, url   string

	// ended returns why the context of the watch ended, nil if it did not. Close
	// ends it by cancel, with ErrClosed.
	ended  func() error
	cancel context.CancelCauseFunc

	close sync.Once
}

func (s *jsonStream) Next() (Frame, error) {
	if err := s.ended(); err != nil {
		return Frame{}, s.fail(err)
	}
	data, err := s.frames.next()
	if err == nil {
		return Frame{Data: data}, nil
	}
	// A body that is read while its context ends fails in several ways, by
	// protocol and by chance. The reason is the context.
	if ended := s.ended(); ended != nil {
		return Frame{}, s.fail(ended)
	}
	if errors.Is(err, io.EOF) {
		return Frame{}, io.EOF
	}
	return Frame{}, s.fail(err)
}

func (s *jsonStream) fail(err error) error {
	return &RequestError{Op: s.op, URL: s.url, Err: err}
}

// Close cancels first: over HTTP/2 that sends RST_STREAM at once, and on either
// protocol it frees a Next that waits in Read.
func (s *jsonStream) Close() error {
	s.close.Do(func() {
		s.cancel(ErrClosed)
		// The body of a watch is never at its end here, so its Close reports nothing
		// that the caller could act on.
		_ = s.body.Close()
	})
	return nil
}

func (s *jsonStream) MediaType() string { return s.mediaType }
