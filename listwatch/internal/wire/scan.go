package wire

// Scanner finds the end of an object or array that comes in pieces. The zero value
// is ready, and ready again after it has found an end.
type Scanner struct {
	depth    int
	inString bool
	escaped  bool // inString, and the next byte follows a backslash
}

// Scan reads the next bytes. The first byte of the first call is the opening bracket.
// Scan returns how many bytes it read, and whether the last of them closed the value.
func (s *Scanner) Scan(b []byte) (n int, done bool) {
	i := 0
	if s.inString && len(b) > 0 {
		i = s.scanString(b, 0)
	}
	for ; i < len(b); i++ {
		switch classes[b[i]] {
		case classQuote:
			end, escaped, ok := StringEnd(b, i+1)
			if !ok {
				s.inString, s.escaped = true, escaped
				return len(b), false
			}
			i = end - 1
		case classOpen:
			s.depth++
		case classClose:
			if s.depth--; s.depth <= 0 {
				s.depth = 0
				return i + 1, true
			}
		}
	}
	return len(b), false
}

// scanString reads the rest of a string, and returns the position after its closing
// quote. If b has no closing quote, inString stays set.
func (s *Scanner) scanString(b []byte, i int) int {
	if s.escaped && i < len(b) {
		s.escaped = false
		i++
	}
	end, escaped, ok := StringEnd(b, i)
	s.inString, s.escaped = !ok, escaped
	return end
}

// Classes of bytes outside of strings.
const (
	classOther = iota
	classQuote
	classOpen
	classClose
)

var classes = [256]uint8{
	'"': classQuote,
	'{': classOpen, '[': classOpen,
	'}': classClose, ']': classClose,
}

// skip returns the position after the value that begins at b[i]. ok is false if b
// ends before the value does, or if no value begins at b[i].
func skip(b []byte, i int) (end int, ok bool) {
	if i >= len(b) {
		return i, false
	}
	switch b[i] {
	case '"':
		end, _, ok = StringEnd(b, i+1)
		return end, ok
	case '{', '[':
		var s Scanner
		n, done := s.Scan(b[i:])
		return i + n, done
	}
	end = literalEnd(b, i)
	return end, end > i
}

// literalEnd returns the position after a number or a word.
func literalEnd(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ',', ':', '}', ']', '{', '[', '"', ' ', '\t', '\r', '\n':
			return i
		}
		i++
	}
	return i
}

// space returns the position of the first byte from b[i] on that is not white space.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}
