package wire

import (
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// minBuffer is the size of a new buffer, and of a buffer that has shrunk. With a smaller one,
	// the Reader would read from the connection too often.
	minBuffer = 64 << 10

	// keepBuffer is the largest buffer that is kept after the value it has grown for.
	keepBuffer = 1 << 20

	// maxEmptyReads is how often in a row a reader may return nothing, as in bufio.
	maxEmptyReads = 100
)

// buffers holds the buffers of closed readers.
var buffers = sync.Pool{New: func() any { return new([minBuffer]byte) }}

// Reader reads JSON from a stream, value by value. It holds one value, and the bytes that arrived
// together with it. It checks the grammar only where its caller does, with Expect and Separator; a
// decoder checks the inside of a value.
//
// If the stream ends early, the error is io.EOF. If the stream is not JSON, the error is a
// *jsontext.SyntacticError, which does not quote the stream. The stream's own errors are returned
// unchanged.
type Reader struct {
	r      io.Reader
	buf    []byte
	start  int
	end    int
	offset int64 // of buf[start] in the stream
	err    error // of r; it is returned after all bytes before it

	// examined is how many bytes were examined to find the ends of values. A test checks that it
	// does not exceed the length of the stream, however many reads a value takes.
	examined int64

	pooled *[minBuffer]byte
}

// NewReader returns a Reader that reads from r. Close releases its memory.
func NewReader(r io.Reader) *Reader {
	pooled := buffers.Get().(*[minBuffer]byte)
	return &Reader{r: r, buf: pooled[:], pooled: pooled}
}

// Close makes the Reader's buffer available to other Readers. The bytes that Value has returned
// must not be used any more. Close does not close the stream.
func (r *Reader) Close() {
	if r.pooled != nil {
		buffers.Put(r.pooled)
	}
	*r = Reader{err: io.ErrClosedPipe}
}

// Offset returns the position in the stream of the next byte.
func (r *Reader) Offset() int64 { return r.offset }

// Peek skips white space, and returns the next byte without taking it.
func (r *Reader) Peek() (byte, error) {
	for {
		i := space(r.buf[:r.end], r.start)
		r.examined += int64(i - r.start)
		r.take(i - r.start)
		if i < r.end {
			return r.buf[i], nil
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
}

// Expect takes the next byte, and returns an error if it is not want.
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

// Value takes the next value, and returns its bytes, which are valid until the next call. If the
// value is not valid JSON, the bytes may end in the wrong place.
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
		r.examined += int64(read)
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
		from := n
		n = scan.scanString(r.buf[r.start:r.end], from)
		r.examined += int64(n - from)
		if !scan.inString {
			return n, nil
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
}

// literal returns the length of the number or word that begins at buf[start]. The end of the
// stream also ends a number or a word.
func (r *Reader) literal() (n int, err error) {
	for {
		from := r.start + n
		end := literalEnd(r.buf[:r.end], from)
		r.examined += int64(end - from)
		if n = end - r.start; end < r.end {
			return n, nil
		}
		if err := r.fill(); err == io.EOF { //nolint:errorlint // only the bare one is an end
			return n, nil
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

// fill reads once, and appends to the unread bytes.
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

// makeRoom makes room behind the unread bytes, and moves them to the start of the buffer if it
// must. A buffer that has grown for a large value shrinks after that value.
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
	// If the buffer is the same, the two places may overlap; copy allows that.
	r.end = copy(r.buf, unread)
	r.start = 0
}
