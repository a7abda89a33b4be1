// Package frames cuts the body of a watch into frames: the bytes of one event each.
//
// A [Framer] finds where a frame begins and ends; each format has its own. It gets the
// bytes of one stream in pieces, as they arrive, and each byte once. A [Reader] does
// what all formats have in common: it buffers, bounds the size of a frame, and adds the
// position in the stream to errors.
package frames

import "fmt"

// Format is the part of a format that finds the events of a watch.
type Format interface {
	// StreamMediaType returns the media type of a watch in this format, in lower case and
	// without parameters. The Content-Type of the answer must be this one, or the watch ends
	// with an error that names it. It may differ from what Accept asks for: kube-apiserver has
	// a format that it calls application/cbor, and application/cbor-seq in a watch.
	StreamMediaType() string

	// Text reports whether events are text. A WebSocket carries text in text messages, and
	// a Framer finds the events in them. In other formats, each message of a WebSocket is
	// one event, without the bytes that a Framer would skip before it.
	Text() bool

	// NewFramer returns a Framer for one stream.
	NewFramer() Framer
}

// Framer finds the frames of one stream.
//
// A Framer must expect any bytes. After an error, neither the stream nor the Framer is
// used any more.
type Framer interface {
	// Begin is called between two frames with the next bytes. It returns how many of them
	// come before a frame, such as white space or the frame's length, and whether the
	// frame begins after them. If the frame does not begin, Begin is called again when
	// more bytes have arrived; b then starts with the bytes that it did not count. If
	// Begin has counted all bytes, the stream may end here.
	//
	// On an error, n is the position of the byte that caused it.
	Begin(b []byte) (n int, begun bool, err error)

	// Scan reads the next bytes of a frame. It returns n, how many of the bytes belong to
	// the frame, and more, how many bytes of the frame follow at least. more is 0 if the
	// frame ends after these n bytes. A Framer that does not know the length of a frame
	// returns 1 until the frame ends.
	//
	// On an error, n is the position of the byte that caused it.
	Scan(b []byte) (n, more int, err error)
}

// Error is the error for a stream that is not a sequence of frames. The bytes after
// Offset cannot be trusted, so the caller must open a new watch.
type Error struct {
	Offset int64  // of the byte that caused the error, from the start of the stream; in a WebSocket only the content of messages counts
	Head   string // the bytes from there that had arrived, at most 64, without credentials
	Reason string
}

// Malformed returns true: what came is no stream of an API server.
func (*Error) Malformed() bool { return true }

// Error gives the offset, the reason and the bytes.
func (e *Error) Error() string {
	return fmt.Sprintf("malformed frame at byte %d of the stream: %s, at %q", e.Offset, e.Reason, e.Head)
}

// TooLargeError is the error for a frame over the limit. The stream continues: the next
// call of Next skips the rest of the frame and returns the frame after it.
type TooLargeError struct {
	Limit  int
	Offset int64  // of the frame's first byte, from the start of the stream
	Head   []byte // the frame's first bytes, at most TooLargeHead, without credentials; they usually tell which object it is
}

// Error gives the limit and the offset.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("frame at byte %d of the stream is larger than %d bytes (Config.MaxFrameBytes)", e.Offset, e.Limit)
}

const (
	// TooLargeHead is how many bytes of a frame a [TooLargeError] holds at most.
	TooLargeHead = 4096

	// errorHead is how many bytes an [Error] quotes at most.
	errorHead = 64
)
