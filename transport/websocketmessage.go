package transport

import (
	"bytes"
	"io"
	"slices"
	"strings"
)

// The media types of messages that are no text.
const (
	protobufMediaType   = "application/vnd.kubernetes.protobuf"
	cborMediaType       = "application/cbor"
	cborStreamMediaType = "application/cbor-seq"
)

// messageTypes tells the type of messages. The answer to a handshake names none: what
// was asked for does, and the messages themselves.
type messageTypes struct {
	asked   []string
	current string // of the last message; "" before the first if several were asked for
}

// newMessageTypes reads what was asked for.
func newMessageTypes(accept string) messageTypes {
	var t messageTypes
	for clause := range strings.SplitSeq(accept, ",") {
		typ := mediaType(clause)
		if typ == cborMediaType {
			typ = cborStreamMediaType
		}
		if !slices.Contains(t.asked, typ) {
			t.asked = append(t.asked, typ)
		}
	}
	if len(t.asked) == 1 {
		t.current = t.asked[0]
	}
	return t
}

// next takes note of a message. It reports whether that is one event, rather than text
// which has events in it.
func (t *messageTypes) next(binary bool) (whole bool) {
	if len(t.asked) > 1 {
		// Of several that are no text, the first byte tells which: of an event, that
		// of protobuf is a field and that of CBOR a map or a tag.
		t.current = jsonMediaType
		if binary {
			t.current = ""
		}
	}
	return t.current != jsonMediaType
}

// begins tells the type of an event that is no text by its beginning.
func (t *messageTypes) begins(event []byte) {
	if t.current != "" {
		return
	}
	isCBOR := len(event) > 0 && event[0] >= 0xa0
	for _, typ := range t.asked {
		if typ != jsonMediaType && (typ == cborStreamMediaType) == isCBOR {
			t.current = typ
		}
	}
}

// wholeReader reads a message that is one event.
type wholeReader struct {
	limit int // 0 is unlimited
	quote func(text []byte, bound int) []byte

	r      io.Reader
	offset int64 // of the message
	buf    []byte
	over   bool // it was too large: the rest of it is passed over
	done   bool
}

func (w *wholeReader) reset(r io.Reader, offset int64) {
	w.r, w.offset, w.over, w.done = r, offset, false, false
	if cap(w.buf) > keepBuffer {
		w.buf = nil
	}
	w.buf = w.buf[:0]
}

// next returns the message, valid until the next call, and then io.EOF.
func (w *wholeReader) next() ([]byte, error) {
	if w.over {
		w.over, w.done = false, true
		if _, err := io.Copy(io.Discard, w.r); err != nil {
			return nil, err
		}
	}
	for !w.done {
		if len(w.buf) == cap(w.buf) {
			w.buf = slices.Grow(w.buf, w.room())
		}
		n, err := w.r.Read(w.buf[len(w.buf):cap(w.buf)])
		w.buf = w.buf[:len(w.buf)+n]
		switch {
		case w.limit > 0 && len(w.buf) > w.limit:
			w.over = true
			head := w.quote(w.buf[:w.limit+1], frameTooLargeHead)
			return nil, &FrameTooLargeError{Limit: w.limit, Offset: w.offset, Head: bytes.Clone(head)}
		case err == io.EOF:
			w.done = true
			if len(w.buf) > 0 {
				return w.buf, nil
			}
		case err != nil:
			return nil, err
		}
	}
	return nil, io.EOF
}

// room is how many bytes more the buffer gets: as many as it has, and no more than
// what tells that the message is too large.
func (w *wholeReader) room() int {
	n := max(minBuffer, len(w.buf))
	if w.limit > 0 {
		n = min(n, max(minBuffer, w.limit+1-len(w.buf)))
	}
	return n
}
