package wire

import (
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// minBuffer is the size that a buffer begins with, and goes back to. A reader of
	// less would ask the connection too often.
	minBuffer = 64 << 10

	// keepBuffer is the size up to which a buffer that has grown for a large value is
	// kept for the values after it.
	keepBuffer = 1 << 20

	// maxEmptyReads is how often a reader may return nothing, as in bufio.
	maxEmptyReads = 100
)

// buffers are those of readers that have been closed.
var buffers = sync.Pool{New: func() any { return new([minBuffer]byte) }}

// Reader reads JSON from a stream, value by value: what is held of the stream is one
// value, and what came with it. It goes by the grammar where the caller does, and
// leaves the inside of a value to a decoder.
//
// The error of a stream that ends early is io.EOF, and that of one that is no JSON a
// *jsontext.SyntacticError, which does not quote it. The stream's own errors are returned as they are.
type Reader struct {
	r      io.Reader
	buf    []byte
	start  int
	end    int
	offset int64 // of buf[start] in the stream
	err    error // of r; it counts once all bytes before it are used

	pooled *[minBuffer]byte
}

// NewReader returns a Reader of r. Close gives its memory back.
func NewReader(r io.Reader) *Reader {
	pooled := buffers.Get().(*[minBuffer]byte)
	return &Reader{r: r, buf: pooled[:], pooled: pooled}
}

// Close makes the Reader's buffer available to others. What Value has returned must
// not be used any more. It does not close the stream.
func (r *Reader) Close() {
	if r.pooled != nil {
		buffers.Put(r.pooled)
	}
	*r = Reader{err: io.ErrClosedPipe}
}

// Offset is the place in the stream of what comes next.
func (r *Reader) Offset() int64 { return r.offset }

// Peek goes over white space, and returns the byte that follows it without taking it.
func (r *Reader) Peek() (byte, error) {
	for {
		i := space(r.buf[:r.end], r.start)
		r.take(i - r.start)
		if i < r.end {
			return r.buf[i], nil
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
}

// Expect takes the next byte, which must be this one.
func (r *Reader) Expect(want byte) error {
	got, err := r.Peek()
	if err != nil {
		return err
	}
	if got != want {
		return r.unexpected(got, fmt.Sprintf("%q", want))
	}
	r.take(1)
	return nil
}

// Separator takes a comma, or the bracket that closes an object or array, and reports
// whether it was a comma.
func (r *Reader) Separator(closer byte) (more bool, err error) {
	got, err := r.Peek()
	if err != nil {
		return false, err
	}
	if got != ',' && got != closer {
		return false, r.unexpected(got, fmt.Sprintf("',' or %q", closer))
	}
	r.take(1)
	return got == ',', nil
}

// Value takes the next value, and returns its bytes, which are valid until the next
// call. Where it ends is certain only if it is JSON.
func (r *Reader) Value() ([]byte, error) {
	first, err := r.Peek()
	if err != nil {
		return nil, err
	}
	var n int
	switch first {
	case '{', '[':
		n, err = r.nested()
	case '"':
		n, err = r.string()
	case ',', ':', '}', ']':
		return nil, r.unexpected(first, "a value")
	default:
		n, err = r.literal()
	}
	if err != nil {
		return nil, err
	}
	value := r.buf[r.start : r.start+n : r.start+n]
	r.take(n)
	return value, nil
}

// nested returns the length of the object or array that begins at buf[start].
func (r *Reader) nested() (n int, err error) {
	var scan Scanner
	for {
		read, done := scan.Scan(r.buf[r.start+n : r.end])
		if n += read; done {
			return n, nil
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
}

// string returns the length of the string that begins at buf[start].
func (r *Reader) string() (n int, err error) {
	scan := Scanner{inString: true}
	for n = 1; ; {
		if n = scan.scanString(r.buf[r.start:r.end], n); !scan.inString {
			return n, nil
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
}

// literal returns the length of a number or a word. One at the end of the stream ends
// with it.
func (r *Reader) literal() (int, error) {
	for {
		if end := literalEnd(r.buf[:r.end], r.start); end < r.end {
			return end - r.start, nil
		}
		if err := r.fill(); err == io.EOF { //nolint:errorlint // only the bare one is an end
			return r.end - r.start, nil
		} else if err != nil {
			return 0, err
		}
	}
}

func (r *Reader) take(n int) {
	r.start += n
	r.offset += int64(n)
}

func (r *Reader) unexpected(got byte, want string) error {
	return &jsontext.SyntacticError{ByteOffset: r.offset, Err: fmt.Errorf("invalid character %q where %s should be", got, want)}
}

// fill reads once, behind what is unread.
func (r *Reader) fill() error {
	if r.err != nil {
		return r.err
	}
	r.makeRoom()
	for range maxEmptyReads {
		n, err := r.r.Read(r.buf[r.end:])
		r.end += n
		r.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	r.err = io.ErrNoProgress
	return r.err
}

// makeRoom leaves free bytes at the end of the buffer, with what is unread at its
// start. A buffer that was needed for one large value shrinks after it.
func (r *Reader) makeRoom() {
	unread := r.buf[r.start:r.end]
	switch {
	case len(r.buf) > keepBuffer && len(unread) <= minBuffer/2:
		r.buf = r.pooled[:]
	case r.end < len(r.buf):
		return
	case len(unread) > len(r.buf)/2:
		r.buf = make([]byte, 2*len(r.buf))
	}
	// Where the buffer is the same, the two places may overlap.
	r.end = copy(r.buf, unread)
	r.start = 0
}
