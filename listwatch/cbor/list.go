package cbor

import (
	"bufio"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/format"
)

// ReadList implements [format.Format]. It accepts the members of a list in any
// order, because servers sort them by the length of their names, so the apiVersion
// comes after the items.
func (Format) ReadList(body io.Reader, list *format.List) error {
	r := newReader(body)
	size, err := r.openMap()
	if err != nil {
		return err
	}
	for n := uint64(0); size.indefinite || n < size.count; n++ {
		if end, err := r.atBreak(size); err != nil || end {
			if err != nil {
				return err
			}
			break
		}
		name, err := r.item()
		if err != nil {
			return err
		}
		if err := r.member(string(textOf(name)), list); err != nil {
			return err
		}
	}
	return r.atEnd()
}

func (r *reader) member(name string, list *format.List) error {
	if name == "items" {
		return r.items(list)
	}
	value, err := r.item()
	if err != nil {
		return err
	}
	switch name {
	case "kind":
		list.Kind = string(textOf(value))
	case "apiVersion":
		list.APIVersion = string(textOf(value))
	case "metadata":
		return r.listMeta(value, &list.ListMeta)
	}
	return nil
}

func (r *reader) items(list *format.List) error {
	size, null, err := r.openArray()
	if err != nil {
		return err
	}
	if err := list.BeginItems(); err != nil || null {
		return err // null: Go servers write it for an empty list
	}
	for n := uint64(0); size.indefinite || n < size.count; n++ {
		if end, err := r.atBreak(size); err != nil || end {
			return err
		}
		object, err := r.item()
		if err != nil {
			return err
		}
		if err := list.Item(object); err != nil {
			return err
		}
	}
	return nil
}

// malformed returns an error about the list, with the position in the body.
func (r *reader) malformed(text string, args ...any) error {
	return fmt.Errorf("%w: %w, at byte %d", format.ErrMalformed, fmt.Errorf(text, args...), r.offset)
}

const (
	// bufferSize is how many bytes are read ahead. An item that fits into the buffer is
	// not copied.
	bufferSize = 32 << 10
	// keepScratch is the largest memory that is kept for the next item that does not
	// fit.
	keepScratch = 1 << 20
	// maxHead is the size of the longest head of an item.
	maxHead = 9
)

// reader reads a list from a body, part by part.
type reader struct {
	buf     *bufio.Reader
	scratch []byte
	offset  int64
}

func newReader(body io.Reader) *reader { return &reader{buf: bufio.NewReaderSize(body, bufferSize)} }

// size is the number of items of an array, or of pairs of a map.
type size struct {
	count      uint64
	indefinite bool
}

// item reads a whole item. The bytes are valid until the next call.
func (r *reader) item() ([]byte, error) {
	var scan scanner
	if cap(r.scratch) > keepScratch {
		r.scratch = nil
	}
	r.scratch = r.scratch[:0]
	for {
		if _, err := r.buf.Peek(1); err != nil {
			return nil, unexpected(err)
		}
		data, _ := r.buf.Peek(r.buf.Buffered()) // cannot fail: the bytes are in the buffer
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

// head reads the head of an item.
func (r *reader) head() (itemHead, error) {
	for want := 1; ; want++ {
		data, err := r.buf.Peek(want)
		if err != nil {
			return itemHead{}, unexpected(err)
		}
		head, rest, err := readHead(data)
		if err == nil {
			used := len(data) - len(rest)
			r.offset += int64(used)
			_, _ = r.buf.Discard(used)
			return head, nil
		}
		if want == maxHead {
			return itemHead{}, r.malformed("%w", err) // unreachable: no head is longer
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
		case head.Major == majorTag && !head.Indefinite:
		case head.Major == majorMap:
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
	case head.Major != majorArray:
		return size{}, false, r.malformed("major type %d where the items of a list should be", head.Major)
	}
	return size{head.Argument, head.Indefinite}, false, nil
}

// atBreak reports whether an array or a map without a length ends here. If so, it
// reads the break.
func (r *reader) atBreak(s size) (bool, error) {
	if !s.indefinite {
		return false, nil
	}
	next, err := r.buf.Peek(1)
	if err != nil {
		return false, unexpected(err)
	}
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
