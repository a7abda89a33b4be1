package cbor

import (
	"fmt"
	"io"

	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/json"
)

// bufferSize is how many bytes of a list are read at once.
const bufferSize = 32 << 10

// ReadList implements [format.Format]. It hands over the items as JSON.
func (cborFormat) ReadList(body io.Reader, list *format.List) error {
	// Two levels are around an item: the list and its items.
	r := &reader{body: body, buf: make([]byte, bufferSize), scan: scanner{json: new(writer), outer: 2}}
	r.scan.reset()
	return json.Format{}.ReadList(r, list)
}

// reader converts a list to JSON. It holds one item.
type reader struct {
	body   io.Reader
	buf    []byte
	unread []byte // of buf
	offset int64  // of unread in the body
	err    error  // of body; it is returned after all bytes before it

	scan  scanner
	ready []byte // what Read returns next
}

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (int, error) {
	for len(r.ready) == 0 {
		if err := r.convert(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// convert converts what has been read, at most an item, and reads more if there is nothing.
func (r *reader) convert() error {
	w := r.scan.json
	if len(r.unread) == 0 {
		return r.fill()
	}
	n, err := r.scan.scan(r.unread)
	r.unread, r.offset = r.unread[n:], r.offset+int64(n)
	if err != nil {
		return fmt.Errorf("%w: %w, at byte %d", format.ErrMalformed, err, r.offset)
	}
	if r.scan.whole() {
		r.ready = w.out
		w.reset()
	}
	return nil
}

func (r *reader) fill() error {
	if r.err == io.EOF && (len(r.scan.stack) > 1 || r.scan.within()) { //nolint:errorlint // only the bare one is an end
		return io.ErrUnexpectedEOF
	}
	if r.err != nil {
		return r.err
	}
	n, err := r.body.Read(r.buf)
	r.unread, r.err = r.buf[:n], err
	return nil
}
