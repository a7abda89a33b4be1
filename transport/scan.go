package transport

import (
	"bytes"
	"fmt"

	"github.com/relist-go/relist/internal/jsonstring"
)

// maxDepth is how deep a frame may be nested: the limit of the json/v2 decoder that
// reads it next.
const maxDepth = 10000

// scanner finds the end of a JSON object. It reads each byte once, in whatever
// pieces they come, and keeps what it must know between two pieces. It checks no
// more than framing needs: braces and brackets match, and strings hide them. The
// grammar is the decoder's business, which can then blame one object and go on.
type scanner struct {
	depth    int
	inString bool
	escaped  bool // inString, and the next byte is escaped by a backslash
	squares  [maxDepth/64 + 1]uint64
}

func (s *scanner) begin(c byte) (begins, between bool) {
	s.depth = 0
	switch c {
	case '{':
		return true, false
	case ' ', '\t', '\r', '\n':
		return false, true
	}
	return false, false
}

func (s *scanner) wants() string { return "the '{' of an event" }

// check looks for a NUL, which JSON does not have, not even in a string: it is padding or
// a torn stream, and the place where the object seemed to end means nothing.
func (s *scanner) check(frame []byte) (i int, err error) {
	if i := bytes.IndexByte(frame, 0); i >= 0 {
		return i, errNUL
	}
	return 0, nil
}

// Classes of bytes outside of strings; 0 is everything that framing ignores.
const (
	classOther = iota
	classQuote
	classOpen
	classClose
	classNUL
)

var classes = [256]uint8{
	'"': classQuote,
	'{': classOpen, '[': classOpen,
	'}': classClose, ']': classClose,
	0: classNUL,
}

// scan reads on. It returns the number of bytes read, and whether the last of them
// closed the object. On an error, n is the place of the byte that caused it.
func (s *scanner) scan(b []byte) (n int, done bool, err error) {
	for i := 0; ; i++ {
		if s.inString {
			if i = s.scanString(b, i); s.inString {
				return i, false, nil
			}
		}
		for i < len(b) && classes[b[i]] == classOther {
			i++
		}
		if i >= len(b) {
			return len(b), false, nil
		}
		switch c := b[i]; classes[c] {
		case classQuote:
			s.inString = true
		case classOpen:
			if s.depth == maxDepth {
				return i, false, fmt.Errorf("nested deeper than %d", maxDepth)
			}
			s.push(c == '[')
		case classClose:
			if square := s.pop(); square != (c == ']') {
				return i, false, fmt.Errorf("%q closes what %q opened", c, opener(square))
			}
			if s.depth == 0 {
				return i + 1, true, nil
			}
		case classNUL:
			return i, false, errNUL
		}
	}
}

// scanString reads on inside a string, from b[i], and returns the place after its
// closing quote; if the quote is not there, it is len(b), and inString stays.
func (s *scanner) scanString(b []byte, i int) int {
	if s.escaped && i < len(b) {
		s.escaped = false
		i++
	}
	end, escaped, ok := jsonstring.End(b, i)
	s.inString, s.escaped = !ok, escaped
	return end
}

// push and pop keep one bit for each level: whether it is an array.
func (s *scanner) push(square bool) {
	word, bit := s.depth/64, uint64(1)<<(s.depth%64)
	if square {
		s.squares[word] |= bit
	} else {
		s.squares[word] &^= bit
	}
	s.depth++
}

// pop is called with depth > 0: an object begins with its first brace and ends
// when the depth is 0 again.
func (s *scanner) pop() (square bool) {
	s.depth--
	return s.squares[s.depth/64]&(1<<(s.depth%64)) != 0
}

func opener(square bool) byte {
	if square {
		return '['
	}
	return '{'
}
