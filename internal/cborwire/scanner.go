// Package cborwire finds the data items of CBOR (RFC 8949) in bytes, as they arrive or
// in memory, and reads what stands before each one. What an item means is the decoder's
// business: this package knows as much of the format as it takes to see where an item
// ends.
//
// [Scanner] is for streams, [Item] and [ReadHead] for what is in memory.
package cborwire

import (
	"errors"
	"fmt"
)

// The major types of RFC 8949, section 3.1.
const (
	Unsigned = 0
	Negative = 1
	Bytes    = 2
	Text     = 3
	Array    = 4
	Map      = 5
	Tag      = 6
	Simple   = 7 // and floats, and the break
)

const (
	// maxDepth is how deep an item may be nested, tags counted: what the JSON decoder
	// takes, and apimachinery's CBOR decoder.
	maxDepth = 10000

	infoOneByte    = 24 // an argument of one byte follows; 25, 26, 27: of two, four, eight
	infoEightBytes = 27
	infoIndefinite = 31
)

var (
	errBreak = errors.New("a break outside of an item of indefinite length")
	errDepth = fmt.Errorf("nested deeper than %d", maxDepth)
	errPairs = errors.New("a map ends with a key")
	errSize  = errors.New("a map of more pairs than there can be")
	errChunk = errors.New("a string of indefinite length has something else inside")
)

// Scanner finds the end of an item. It sees each byte once, in whatever pieces they
// come. The zero value is ready for the first item; a Scanner that has returned an
// error is of no more use.
type Scanner struct {
	stack []level // the items around the present one, the outermost first

	head     byte   // the initial byte of the present item
	argument uint64 // as much of its argument as is here
	need     int    // bytes of its argument that are not
	text     uint64 // bytes of a string that are still to come
	begun    bool   // an item is under way
}

// level is an item that has others inside.
type level struct {
	left       uint64 // items that are still to come; if indefinite, those that have come
	indefinite bool
	major      byte
}

// Scan reads on. It returns the number of bytes read, and whether the last of them
// ended an item. On an error, n is the place of the byte that caused it.
func (s *Scanner) Scan(b []byte) (n int, done bool, err error) {
	for n < len(b) {
		switch {
		case s.text > 0:
			k := min(s.text, uint64(len(b)-n))
			n += int(k) //nolint:gosec // at most len(b)
			if s.text -= k; s.text == 0 && s.complete() {
				return n, true, nil
			}
			continue
		case s.need > 0:
			s.argument = s.argument<<8 | uint64(b[n])
			s.need--
		default:
			s.begun = true
			if err := s.initial(b[n]); err != nil {
				return n, false, err
			}
		}
		if s.need > 0 {
			n++
			continue
		}
		if done, err = s.item(); err != nil {
			return n, false, err
		}
		n++
		if done {
			return n, true, nil
		}
	}
	return n, false, nil
}

// Inside reports whether an item has begun and not ended.
func (s *Scanner) Inside() bool { return s.begun }

// initial reads an initial byte.
func (s *Scanner) initial(c byte) error {
	s.head, s.argument = c, 0
	switch info := c & 31; {
	case info < infoOneByte:
		s.argument = uint64(info)
	case info <= infoEightBytes:
		s.need = 1 << (info - infoOneByte)
	case info < infoIndefinite:
		return fmt.Errorf("initial byte %#02x has no meaning", c)
	}
	if top := s.top(); top != nil && top.indefinite && (top.major == Bytes || top.major == Text) {
		if c != breakByte && (c>>5 != top.major || c&31 == infoIndefinite) {
			return errChunk
		}
	}
	return nil
}

const breakByte = Simple<<5 | infoIndefinite

// item goes on with an item whose head is all there. It reports whether that was the
// end of the outermost one.
func (s *Scanner) item() (done bool, err error) {
	major := s.head >> 5
	if s.head&31 == infoIndefinite {
		return s.indefinite(major)
	}
	switch major {
	case Bytes, Text:
		if s.text = s.argument; s.text > 0 {
			return false, nil
		}
	case Array:
		return s.push(level{left: s.argument, major: major})
	case Map:
		if s.argument > 1<<62 {
			return false, errSize
		}
		return s.push(level{left: 2 * s.argument, major: major})
	case Tag:
		return s.push(level{left: 1, major: major})
	case Simple:
		if s.head&31 == infoOneByte && s.argument < 32 {
			return false, fmt.Errorf("simple value %d in two bytes", s.argument)
		}
	}
	return s.complete(), nil
}

// indefinite begins an item without a length, or ends one with a break.
func (s *Scanner) indefinite(major byte) (done bool, err error) {
	switch major {
	case Bytes, Text, Array, Map:
		if len(s.stack) == maxDepth {
			return false, errDepth
		}
		s.stack = append(s.stack, level{indefinite: true, major: major})
		return false, nil
	case Simple:
		top := s.top()
		switch {
		case top == nil || !top.indefinite:
			return false, errBreak
		case top.major == Map && top.left%2 == 1:
			return false, errPairs
		}
		s.stack = s.stack[:len(s.stack)-1]
		return s.complete(), nil
	}
	return false, fmt.Errorf("initial byte %#02x has no meaning", s.head)
}

// push goes into an item.
func (s *Scanner) push(l level) (done bool, err error) {
	if l.left == 0 {
		return s.complete(), nil
	}
	if len(s.stack) == maxDepth {
		return false, errDepth
	}
	s.stack = append(s.stack, l)
	return false, nil
}

// complete counts off an item that has ended, and those that end with it.
func (s *Scanner) complete() (done bool) {
	for {
		top := s.top()
		if top == nil {
			s.begun = false
			return true
		}
		if top.indefinite {
			top.left++
			return false
		}
		if top.left--; top.left > 0 {
			return false
		}
		s.stack = s.stack[:len(s.stack)-1]
	}
}

func (s *Scanner) top() *level {
	if len(s.stack) == 0 {
		return nil
	}
	return &s.stack[len(s.stack)-1]
}
