package cbor

import (
	"errors"
	"fmt"
)

// The major types of RFC 8949, section 3.1.
const (
	majorUnsigned = 0
	majorNegative = 1
	majorBytes    = 2
	majorText     = 3
	majorArray    = 4
	majorMap      = 5
	majorTag      = 6
	majorSimple   = 7 // and floats, and the break
)

const (
	// maxDepth is how deep an item may be nested. Tags count as a level. The JSON
	// decoder and apimachinery's CBOR decoder have the same limit.
	maxDepth = 10000

	infoOneByte    = 24 // an argument of one byte follows; 25, 26, 27: of two, four, eight
	infoEightBytes = 27
	infoIndefinite = 31
)

var (
	errBreak = errors.New("a break outside of an item of indefinite length")
	errDepth = fmt.Errorf("nested deeper than %d", maxDepth)
	errPairs = errors.New("a map ends with a key")
	errSize  = errors.New("a map claims more pairs than any body can hold")
	errChunk = errors.New("a string of indefinite length contains something else than chunks")
)

// scanner finds the end of an item. It reads each byte once, however the bytes are
// split. The zero value is ready for the first item. After an error, a scanner
// cannot be used any more.
type scanner struct {
	stack []level // the items around the present one, the outermost first

	head     byte   // the initial byte of the present item
	argument uint64 // the bytes of its argument that have come
	need     int    // how many bytes of its argument are still to come
	text     uint64 // how many bytes of a string are still to come
	begun    bool   // an item has begun and not ended
}

// level is an item that contains other items.
type level struct {
	left       uint64 // how many items are still to come; if indefinite, how many have come
	indefinite bool
	major      byte
}

// Scan reads the next bytes. It returns how many it read, and whether the last of
// them ended an item. On an error, n is the position of the byte that caused it.
func (s *scanner) Scan(b []byte) (n int, done bool, err error) {
	for n < len(b) {
		switch {
		case s.text > 0:
			k := min(s.text, uint64(len(b)-n))
			n += int(k) // at most len(b)
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

// inside reports whether an item has begun and not ended.
func (s *scanner) inside() bool { return s.begun }

// initial reads an initial byte.
func (s *scanner) initial(c byte) error {
	s.head, s.argument = c, 0
	switch info := c & 31; {
	case info < infoOneByte:
		s.argument = uint64(info)
	case info <= infoEightBytes:
		s.need = 1 << (info - infoOneByte)
	case info < infoIndefinite:
		return fmt.Errorf("initial byte %#02x has no meaning", c)
	}
	if top := s.top(); top != nil && top.indefinite && (top.major == majorBytes || top.major == majorText) {
		if c != breakByte && (c>>5 != top.major || c&31 == infoIndefinite) {
			return errChunk
		}
	}
	return nil
}

const breakByte = majorSimple<<5 | infoIndefinite

// item is called when the head of an item is complete. It reports whether the head
// ends the outermost item.
func (s *scanner) item() (done bool, err error) {
	major := s.head >> 5
	if s.head&31 == infoIndefinite {
		return s.indefinite(major)
	}
	switch major {
	case majorBytes, majorText:
		if s.text = s.argument; s.text > 0 {
			return false, nil
		}
	case majorArray:
		return s.push(level{left: s.argument, major: major})
	case majorMap:
		if s.argument > 1<<62 {
			return false, errSize
		}
		return s.push(level{left: 2 * s.argument, major: major})
	case majorTag:
		return s.push(level{left: 1, major: major})
	case majorSimple:
		if s.head&31 == infoOneByte && s.argument < 32 {
			return false, fmt.Errorf("simple value %d in two bytes", s.argument)
		}
	}
	return s.complete(), nil
}

// indefinite begins an item without a length, or ends one with a break.
func (s *scanner) indefinite(major byte) (done bool, err error) {
	switch major {
	case majorBytes, majorText, majorArray, majorMap:
		if len(s.stack) == maxDepth {
			return false, errDepth
		}
		s.stack = append(s.stack, level{indefinite: true, major: major})
		return false, nil
	case majorSimple:
		top := s.top()
		switch {
		case top == nil || !top.indefinite:
			return false, errBreak
		case top.major == majorMap && top.left%2 == 1:
			return false, errPairs
		}
		s.stack = s.stack[:len(s.stack)-1]
		return s.complete(), nil
	}
	return false, fmt.Errorf("initial byte %#02x has no meaning", s.head)
}

// push enters an item that contains other items. If it contains none, the item
// ends.
func (s *scanner) push(l level) (done bool, err error) {
	if l.left == 0 {
		return s.complete(), nil
	}
	if len(s.stack) == maxDepth {
		return false, errDepth
	}
	s.stack = append(s.stack, l)
	return false, nil
}

// complete counts an item that has ended, and each item around it that ends with
// it.
func (s *scanner) complete() (done bool) {
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

func (s *scanner) top() *level {
	if len(s.stack) == 0 {
		return nil
	}
	return &s.stack[len(s.stack)-1]
}
