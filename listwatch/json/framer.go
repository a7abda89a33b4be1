package json

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/relist-go/relist/listwatch/internal/wire"
)

// framer finds the JSON objects of a stream; white space may stand between them. It
// reads each byte once, however the stream is split, and keeps its state from one piece
// to the next. It only checks that braces and brackets outside of strings match. The
// decoder checks the grammar and the depth, so an error of either costs one object and
// not the stream. Beyond maxDepth, the framer counts brackets of both kinds alike.
type framer struct {
	depth    int
	inString bool
	escaped  bool                    // inString, and the next byte is escaped by a backslash
	squares  [maxDepth/64 + 1]uint64 // of the outermost levels
}

var (
	errNUL   = errors.New("NUL byte")
	errStart = errors.New("want the '{' of an event")
)

// Begin implements [frames.Framer].
func (s *framer) Begin(b []byte) (n int, begun bool, err error) {
	s.depth, s.inString, s.escaped = 0, false, false
	for n < len(b) && (b[n] == ' ' || b[n] == '\t' || b[n] == '\r' || b[n] == '\n') {
		n++
	}
	switch {
	case n == len(b):
		return n, false, nil
	case b[n] == '{':
		return n, true, nil
	}
	return n, false, errStart
}

// Scan implements [frames.Framer].
func (s *framer) Scan(b []byte) (n, more int, err error) {
	n, done, err := s.scan(b)
	// JSON allows no NUL, not even in a string. A NUL is padding or comes from a torn
	// stream, so the place where the object seems to end cannot be trusted.
	if i := bytes.IndexByte(b[:n], 0); i >= 0 {
		return i, 1, errNUL
	}
	if !done {
		more = 1
	}
	return n, more, err
}

// The classes of bytes outside of strings. Framing ignores bytes of classOther.
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

// scan reads the next bytes. It returns how many it read, and whether the last of them
// closed the object. On an error, n is the position of the byte that caused it.
func (s *framer) scan(b []byte) (n int, done bool, err error) {
	i := 0
	if s.inString && len(b) > 0 {
		i = s.scanString(b)
	}
	for ; i < len(b); i++ {
		switch c := b[i]; classes[c] {
		case classQuote:
			end, escaped, ok := wire.StringEnd(b, i+1)
			if !ok {
				s.inString, s.escaped = true, escaped
				return end, false, nil
			}
			i = end - 1
		case classOpen:
			s.push(c == '[')
		case classClose:
			if square := s.pop(c == ']'); square != (c == ']') {
				return i, false, fmt.Errorf("%q closes what %q opened", c, opener(square))
			}
			if s.depth == 0 {
				return i + 1, true, nil
			}
		}
	}
	return len(b), false, nil
}

// scanString reads the rest of a string, and returns the position after its closing quote. If b has
// no closing quote, scanString returns len(b) and leaves inString set. b is not empty.
func (s *framer) scanString(b []byte) int {
	i := 0
	if s.escaped {
		i = 1
	}
	end, escaped, ok := wire.StringEnd(b, i)
	s.inString, s.escaped = !ok, escaped
	return end
}

// push enters an array or an object. One bit for each level says which of the two it
// is.
func (s *framer) push(square bool) {
	if word, bit := s.depth/64, uint64(1)<<(s.depth%64); word < len(s.squares) {
		if square {
			s.squares[word] |= bit
		} else {
			s.squares[word] &^= bit
		}
	}
	s.depth++
}

// pop leaves a level, and reports whether it was an array; guess is the answer for a
// level that is too deep to be known. The depth is never 0 here, because the object's
// first brace makes it 1 and the object ends when it is 0 again.
func (s *framer) pop(guess bool) (square bool) {
	s.depth--
	word := s.depth / 64
	if word >= len(s.squares) {
		return guess
	}
	return s.squares[word]&(1<<(s.depth%64)) != 0
}

func opener(square bool) byte {
	if square {
		return '['
	}
	return '{'
}
