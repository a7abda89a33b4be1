package transport

import (
	"bytes"
	"fmt"
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
	for i := 0; ; {
		if s.inString {
			i += s.scanString(b[i:])
			if s.inString {
				return len(b), false, nil
			}
		}
		for i < len(b) && classes[b[i]] == classOther {
			i++
		}
		if i == len(b) {
			return i, false, nil
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
		i++
	}
}

// scanString reads on inside a string, up to and with its closing quote, and
// returns the number of bytes read.
func (s *scanner) scanString(b []byte) int {
	i := 0
	if s.escaped && len(b) > 0 {
		s.escaped = false
		i = 1
	}
	for {
		q := bytes.IndexByte(b[i:], '"')
		end := i + q
		if q < 0 {
			end = len(b)
		}
		// Backslashes pair up, beginning after the last place known to be unescaped.
		slash := end
		for slash > i && b[slash-1] == '\\' {
			slash--
		}
		odd := (end-slash)%2 == 1
		if q < 0 {
			if len(b) > i {
				s.escaped = odd
			}
			return len(b)
		}
		i = end + 1
		if !odd {
			s.inString = false
			return i
		}
	}
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
