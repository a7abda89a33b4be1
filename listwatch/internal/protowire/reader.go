package protowire

import (
	"bufio"
	"bytes"
	"io"
)

const (
	// bufferSize is how many bytes are read ahead. A value that fits into the buffer is
	// not copied.
	bufferSize = 32 << 10
	// keepScratch is the largest memory that is kept for the next value that does not
	// fit.
	keepScratch = 1 << 20
)

// Reader reads a message part by part from a stream. It holds only the value that
// the caller has asked for.
type Reader struct {
	buf     *bufio.Reader
	scratch bytes.Buffer
	offset  int64
}

// NewReader returns a Reader that reads from r.
func NewReader(r io.Reader) *Reader { return &Reader{buf: bufio.NewReaderSize(r, bufferSize)} }

// Offset returns how many bytes of the message have been read.
func (r *Reader) Offset() int64 { return r.offset }

// Tag reads a field's number and type, which stand before its value. It returns
// io.EOF if nothing is left. If the message ends too early, Tag and all other
// methods return io.ErrUnexpectedEOF.
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

// Bytes reads n bytes, which are valid until the next call. It allocates memory as
// the bytes arrive, so a false length costs nothing.
func (r *Reader) Bytes(n int) ([]byte, error) {
	if n <= bufferSize {
		data, err := r.buf.Peek(n)
		if err != nil {
			return nil, unexpected(err)
		}
		_, _ = r.buf.Discard(n) // cannot fail: the bytes are in the buffer
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
	switch typ { //nolint:exhaustive // Tag refuses groups
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
	read, err := io.CopyN(io.Discard, r.buf, int64(size)) // at most 1<<62
	r.offset += read
	return unexpected(err)
}

func unexpected(err error) error {
	if err == io.EOF { //nolint:errorlint // only the bare one is an end
		return io.ErrUnexpectedEOF
	}
	return err
}
