package cbor

import (
	"bufio"
	"io"

	"github.com/go-json-experiment/json"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/cborwire"
)

const (
	// bufferSize is how much is read ahead: an item that fits is handed over in place.
	bufferSize = 32 << 10
	// keepScratch is the size up to which memory for a larger one is kept for the next.
	keepScratch = 1 << 20
	// maxHead is the size of the longest head of an item.
	maxHead = 9
)

// reader reads a list whose parts arrive one by one.
type reader struct {
	buf     *bufio.Reader
	scratch []byte
	offset  int64
}

func newReader(body io.Reader) *reader { return &reader{buf: bufio.NewReaderSize(body, bufferSize)} }

// size is how many items or pairs there are.
type size struct {
	count      uint64
	indefinite bool
}

// item reads an item whole. It is valid until the next call.
func (r *reader) item() ([]byte, error) {
	var scan cborwire.Scanner
	if cap(r.scratch) > keepScratch {
		r.scratch = nil
	}
	r.scratch = r.scratch[:0]
	for {
		if _, err := r.buf.Peek(1); err != nil {
			return nil, unexpected(err)
		}
		data, _ := r.buf.Peek(r.buf.Buffered()) // of what is in the buffer: it cannot fail
		n, done, err := scan.Scan(data)
		if err != nil {
			r.offset += int64(n)
			return nil, r.malformed("%w", err)
		}
		r.offset += int64(n)
		_, _ = r.buf.Discard(n)
		if done && len(r.scratch) == 0 {
			return data[:n], nil
		}
		r.scratch = append(r.scratch, data[:n]...)
		if done {
			return r.scratch, nil
		}
	}
}

// head reads what an item begins with.
func (r *reader) head() (cborwire.Head, error) {
	for want := 1; ; want++ {
		data, err := r.buf.Peek(want)
		if err != nil {
			return cborwire.Head{}, unexpected(err)
		}
		head, rest, err := cborwire.ReadHead(data)
		if err == nil {
			used := len(data) - len(rest)
			r.offset += int64(used)
			_, _ = r.buf.Discard(used)
			return head, nil
		}
		if want == maxHead {
			return cborwire.Head{}, r.malformed("%w", err) // unreachable: no head is longer
		}
	}
}

// openMap reads the head of a map, and tags before it.
func (r *reader) openMap() (size, error) {
	for {
		head, err := r.head()
		switch {
		case err != nil:
			return size{}, err
		case head.Major == cborwire.Tag && !head.Indefinite:
		case head.Major == cborwire.Map:
			return size{head.Argument, head.Indefinite}, nil
		default:
			return size{}, r.malformed("major type %d where the map of a list should be", head.Major)
		}
	}
}

func (r *reader) openArray() (s size, null bool, err error) {
	head, err := r.head()
	switch {
	case err != nil:
		return size{}, false, err
	case head.Null:
		return size{}, true, nil
	case head.Major != cborwire.Array:
		return size{}, false, r.malformed("major type %d where the items of a list should be", head.Major)
	}
	return size{head.Argument, head.Indefinite}, false, nil
}

// atBreak reports whether the break comes next that ends something without a length,
// and reads it.
func (r *reader) atBreak(s size) (bool, error) {
	if !s.indefinite {
		return false, nil
	}
	next, err := r.buf.Peek(1)
	if err != nil {
		return false, unexpected(err)
	}
	const breakByte = cborwire.Simple<<5 | 31
	if next[0] != breakByte {
		return false, nil
	}
	r.offset++
	_, _ = r.buf.Discard(1)
	return true, nil
}

// atEnd returns an error if more follows.
func (r *reader) atEnd() error {
	_, err := r.buf.Peek(1)
	if err == nil {
		return r.malformed("more follows the end of the list")
	}
	if err == io.EOF {
		return nil // only the bare one is an end
	}
	return err
}

func unexpected(err error) error {
	if err == io.EOF { //nolint:errorlint // only the bare one is an end
		return io.ErrUnexpectedEOF
	}
	return err
}

func (r *reader) listMeta(value []byte, into *metav1.ListMeta) error {
	text, err := toJSON(value)
	var meta metav1.ListMeta
	if err == nil {
		err = json.Unmarshal(text, &meta)
	}
	if err != nil {
		return r.malformed("metadata: %w", err)
	}
	*into = meta
	return nil
}
