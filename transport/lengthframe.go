package transport

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// lengthBytes is the size of what stands before each frame of protobuf: its length, in
// network byte order.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
const lengthBytes = 4

// textLength is the least number that four letters of text make, taken for a length. No
// server has such an object; skipping it would be to wait for ever.
const textLength = 0x20000000

// lengthReader cuts a stream of frames that have their length before them. Those that
// are small, as most are, are handed over where they were read to. The length is the
// word of a server that may be none at all: memory for others is taken as bytes arrive.
type lengthReader struct {
	r     *bufio.Reader
	limit int // of a frame; 0 is unlimited
	quote quoteFunc

	buf    bytes.Buffer // of a frame that is larger than the buffer of r
	offset int64        // of what is read next, from the start of the stream
	skip   int64        // what is left of a frame that was too large
	err    error
}

func newLengthReader(r io.Reader, limit int) *lengthReader {
	return &lengthReader{r: bufio.NewReaderSize(r, minBuffer), limit: limit, quote: quoteAll}
}

func (f *lengthReader) next() ([]byte, error) {
	if f.err != nil {
		return nil, f.err
	}
	frame, err := f.cut()
	if _, large := err.(*FrameTooLargeError); err != nil && !large { //nolint:errorlint // made here
		f.err = err
	}
	return frame, err
}

// ready reports whether a whole frame is in the buffer of r.
func (f *lengthReader) ready() bool {
	if f.skip > 0 || f.r.Buffered() < lengthBytes {
		return false
	}
	prefix, _ := f.r.Peek(lengthBytes) // which are there
	return int64(binary.BigEndian.Uint32(prefix)) <= int64(f.r.Buffered()-lengthBytes)
}

func (f *lengthReader) cut() ([]byte, error) {
	if err := f.finishSkip(); err != nil {
		return nil, err
	}
	start := f.offset
	length, err := f.length()
	if err != nil {
		return nil, err
	}
	if f.limit > 0 && length > int64(f.limit) {
		return nil, f.tooLarge(start, length)
	}
	frame, err := f.take(length)
	if err != nil {
		return nil, f.torn(err, f.offset-start)
	}
	return frame, nil
}

// length reads the length of a frame. The end of the stream comes before one, or else
// the stream was cut.
func (f *lengthReader) length() (int64, error) {
	prefix, err := f.take(lengthBytes)
	if n := len(prefix); n > 0 && err != nil {
		return 0, f.torn(err, int64(n))
	}
	if err != nil {
		return 0, err
	}
	length := int64(binary.BigEndian.Uint32(prefix))
	if length == 0 || length >= max(textLength, int64(f.limit)) && f.limit > 0 {
		return 0, &FrameError{
			Offset: f.offset - lengthBytes,
			Head:   string(f.quote(prefix, frameErrorHead)),
			Reason: fmt.Sprintf("%d bytes is no length of a frame", length),
		}
	}
	return length, nil
}

// take reads n bytes, which are valid until the next call. With an error come those that
// were there. A buffer that a large frame has blown up is given back.
func (f *lengthReader) take(n int64) ([]byte, error) {
	if f.buf.Reset(); f.buf.Cap() > keepBuffer {
		f.buf = bytes.Buffer{}
	}
	if n <= int64(f.r.Size()) {
		data, err := f.r.Peek(int(n))
		read, _ := f.r.Discard(len(data)) // of what is in the buffer: it cannot fail
		f.offset += int64(read)
		return data, err
	}
	read, err := io.CopyN(&f.buf, f.r, n)
	f.offset += read
	return f.buf.Bytes(), err
}

// tooLarge gives up a frame, of which it reads the first bytes.
func (f *lengthReader) tooLarge(start, length int64) error {
	want := min(length, int64(f.limit), frameTooLargeHead)
	head, err := f.take(want)
	if err != nil {
		return f.torn(err, f.offset-start)
	}
	f.skip = length - want
	return &FrameTooLargeError{Limit: f.limit, Offset: start, Head: bytes.Clone(f.quote(head, frameTooLargeHead))}
}

// finishSkip reads over the rest of a frame that was too large.
func (f *lengthReader) finishSkip() error {
	if f.skip == 0 {
		return nil
	}
	skipped, err := io.CopyN(io.Discard, f.r, f.skip)
	f.offset += skipped
	f.skip -= skipped
	if err != nil {
		return f.torn(err, skipped)
	}
	return nil
}

// torn is the error of a stream that ends inside a frame.
func (f *lengthReader) torn(err error, in int64) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF { //nolint:errorlint // only the bare one is an end
		return fmt.Errorf("the stream ends inside a frame, %d bytes in: %w", in, io.ErrUnexpectedEOF)
	}
	return err
}
