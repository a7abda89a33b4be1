package protowire

import (
	"bufio"
	"bytes"
	"io"
)

const (
	// bufferSize is how much is read ahead: an item that fits is handed over in place.
	bufferSize = 32 << 10
	// keepScratch is the size up to which memory for a larger one is kept for the next.
	keepScratch = 1 << 20
)

// Reader reads a message whose parts arrive one by one. It holds no more of it than
// the value that it was asked for.
type Reader struct {
	buf     *bufio.Reader
	scratch bytes.Buffer
	offset  int64
}

// NewReader returns a Reader of what r delivers.
func NewReader(r io.Reader) *Reader { return &Reader{buf: bufio.NewReaderSize(r, bufferSize)} }

// Offset is the number of bytes that were read as parts of the message.
func (r *Reader) Offset() int64 { return r.offset }

// Tag reads what stands before a value. It returns io.EOF if nothing is left, and
// io.ErrUnexpectedEOF, as every other method does, if the message ends too early.
func (r *Reader) Tag() (number int, typ Type, err error) {
	if _, err := r.buf.Peek(1); err != nil {
		return 0, 0, err
	}
	tag, err := r.Uvarint()
	if err != nil {
		return 0, 0, err
	}
	return splitTag(tag)
}

// Uvarint reads a Varint, or the length of a Bytes value.
func (r *Reader) Uvarint() (uint64, error) {
	var raw [maxVarint]byte
	for i := range raw {
		c, err := r.buf.ReadByte()
		if err != nil {
			return 0, unexpected(err)
		}
		r.offset++
		if raw[i] = c; c < 0x80 {
			value, _, err := uvarint(raw[:i+1])
			return value, err
		}
	}
	return 0, ErrVarint
}

// Bytes reads n bytes. They are valid until the next call. Memory is taken as they
// arrive: a length that is a lie costs nothing.
func (r *Reader) Bytes(n int) ([]byte, error) {
	if n <= bufferSize {
		data, err := r.buf.Peek(n)
		if err != nil {
			return nil, unexpected(err)
		}
		_, _ = r.buf.Discard(n) // of what is in the buffer: it cannot fail
		r.offset += int64(n)
		return data, nil
	}
	if r.scratch.Reset(); r.scratch.Cap() > keepScratch {
		r.scratch = bytes.Buffer{}
	}
	read, err := io.CopyN(&r.scratch, r.buf, int64(n))
	r.offset += read
	if err != nil {
		return nil, unexpected(err)
	}
	return r.scratch.Bytes(), nil
}

// Skip reads over a value of the given type.
func (r *Reader) Skip(typ Type) error {
	size := uint64(4)
	switch typ {
	case Varint:
		_, err := r.Uvarint()
		return err
	case Fixed64:
		size = 8
	case Bytes:
		var err error
		if size, err = r.Uvarint(); err != nil {
			return err
		}
		if size > 1<<62 {
			return ErrTruncated // no message is so long
		}
	case Fixed32:
	}
	read, err := io.CopyN(io.Discard, r.buf, int64(size)) //nolint:gosec // at most 1<<62
	r.offset += read
	return unexpected(err)
}

func unexpected(err error) error {
	if err == io.EOF { //nolint:errorlint // only the bare one is an end
		return io.ErrUnexpectedEOF
	}
	return err
}
