package cbor

import (
	"errors"
	"fmt"
)

// The major types of RFC 8949, section 3.1.
const (
	majorUnsigned = iota
	majorNegative
	majorBytes
	majorText
	majorArray
	majorMap
	majorTag
	majorSimple // and floats, and the break
)

// What the other bits of an initial byte say.
const (
	infoOneByte    = 24 // an argument of one byte follows; 25, 26, 27: of two, four, eight
	infoEightBytes = 27
	infoIndefinite = 31

	breakByte = majorSimple<<5 | infoIndefinite
)

// maxLevels bounds the memory for the levels of one item. The decoder of an object refuses
// far fewer, and then refuses this object only.
const maxLevels = 1 << 20

// keepLevels is how many levels at most are kept for the next item.
const keepLevels = 1000

var (
	errMap    = errors.New("want a map")
	errBreak  = errors.New("a break outside of an item of indefinite length")
	errLevels = fmt.Errorf("nested deeper than %d", maxLevels)
	errKey    = errors.New("a map has an array or a map as a key")
	errPairs  = errors.New("a map ends with a key")
	errSize   = errors.New("a map claims more pairs than any body can hold")
	errChunk  = errors.New("a string of indefinite length contains something else than chunks")
)

// scanner finds the end of an item, which must be a map, and has it written as JSON. It
// gets the item in pieces and reads each byte once. After an error, it cannot be used any
// more.
type scanner struct {
	json  *writer // nil: only the end is wanted
	outer int     // how many levels are handed over in parts: their members stay in the order in which they come

	stack    []level // the items around the present one, the outermost first, below a level around all
	initial  byte    // the first byte of the present item
	argument uint64  // the number in the head of the item, as far as it has come
	need     int     // how many bytes of it are still to come
	text     uint64  // how many bytes of a string are still to come
	tag      uint64  // the last tag before the present item
	tagged   bool    // there is one
}

// level is an item that contains other items.
type level struct {
	left    uint64 // how many are still to come; if open, only whether it is even counts
	members int    // the first of the map's members in the writer
	bracket byte   // '[', '{', or '"' for a string in chunks
	major   byte
	open    bool // a break ends it
	begun   bool // one has come
}

func (l *level) atKey() bool { return l.bracket == '{' && l.left%2 == 0 }

// reset prepares for another item. It must be called for the first one, too.
func (s *scanner) reset() {
	if cap(s.stack) > keepLevels {
		s.stack = nil
	}
	*s = scanner{json: s.json, outer: s.outer, stack: append(s.stack[:0], level{open: true})}
}

// scan reads the next bytes, at most until whole is true. It returns how many it read. On
// an error, that is the position of the byte that caused it.
func (s *scanner) scan(b []byte) (n int, err error) {
	for n < len(b) {
		if s.text > 0 {
			piece := b[n : n+int(min(s.text, uint64(len(b)-n)))] // at most len(b)
			n += len(piece)
			if s.json != nil {
				s.json.text(piece)
			}
			if s.text -= uint64(len(piece)); s.text == 0 {
				s.endText()
			}
		} else {
			if err := s.head(b[n]); err != nil {
				return n, err
			}
			n++
		}
		if s.whole() {
			break
		}
	}
	return n, nil
}

// whole reports whether no item has begun and not ended, apart from those of the outer
// levels.
func (s *scanner) whole() bool { return len(s.stack)-1 <= s.outer && !s.within() }

// within reports whether a part of an item has come that is not in the stack.
func (s *scanner) within() bool { return s.need > 0 || s.text > 0 || s.tagged }

// head reads a byte of the head of an item.
func (s *scanner) head(b byte) error {
	switch info := b & 31; {
	case s.need > 0:
		s.argument = s.argument<<8 | uint64(b)
		s.need--
	case len(s.stack) == 1 && b>>5 != majorMap && b>>5 != majorTag && b != breakByte:
		return errMap
	case info < infoOneByte || info == infoIndefinite:
		s.initial, s.argument = b, uint64(info)
	case info <= infoEightBytes:
		s.initial, s.argument, s.need = b, 0, 1<<(info-infoOneByte)
	default:
		return fmt.Errorf("initial byte %#02x has no meaning", b)
	}
	if s.need > 0 {
		return nil
	}
	return s.item()
}

// item is called when the head of an item is complete.
func (s *scanner) item() error {
	major, info, top := s.initial>>5, s.initial&31, s.top()
	open := info == infoIndefinite
	switch {
	case s.initial == breakByte:
		return s.breakItem()
	case open && (major < majorBytes || major == majorTag):
		return fmt.Errorf("initial byte %#02x has no meaning", s.initial)
	case top.bracket == '"' && (major != top.major || open):
		return errChunk
	case major == majorTag:
		s.tag, s.tagged = s.argument, true
		return nil
	}
	if s.json != nil {
		s.json.separate(top)
	}
	top.begun = true
	switch {
	case major == majorBytes || major == majorText:
		return s.beginText(major, open)
	case major == majorArray:
		return s.enter(level{left: s.argument, bracket: '[', open: open})
	case major == majorMap && s.argument > 1<<62:
		return errSize
	case major == majorMap:
		return s.enter(level{left: 2 * s.argument, bracket: '{', open: open})
	case major == majorSimple && info == infoOneByte && s.argument < 32:
		return fmt.Errorf("simple value %d in two bytes", s.argument)
	}
	if s.json != nil {
		s.json.scalar(major, info, s.argument, top.atKey())
	}
	s.complete()
	return nil
}

// beginText begins a string, or a chunk of one.
func (s *scanner) beginText(major byte, open bool) error {
	if s.json != nil && s.top().bracket != '"' {
		s.json.beginText(s.tag, s.tagged && major == majorBytes)
	}
	if open {
		return s.enter(level{bracket: '"', major: major, open: true})
	}
	s.tagged = false
	if s.text = s.argument; s.text == 0 {
		s.endText()
	}
	return nil
}

// endText is called after the last byte of a string or of a chunk.
func (s *scanner) endText() {
	if s.json != nil && s.top().bracket != '"' {
		s.json.endText()
	}
	s.complete()
}

// enter begins an item that contains others. If it contains none, the item ends.
func (s *scanner) enter(l level) error {
	s.tagged = false
	switch {
	case len(s.stack) > maxLevels:
		return errLevels
	case l.bracket != '"' && s.top().atKey():
		return errKey
	}
	if s.json != nil {
		l.members = s.json.enter(l.bracket)
	}
	if s.stack = append(s.stack, l); l.left == 0 && !l.open {
		s.leave()
	}
	return nil
}

// breakItem ends an item of indefinite length.
func (s *scanner) breakItem() error {
	switch top := s.top(); {
	case len(s.stack) == 1 || !top.open || s.tagged:
		return errBreak
	case top.bracket == '{' && !top.atKey():
		return errPairs
	}
	s.leave()
	return nil
}

// complete counts an item that has ended.
func (s *scanner) complete() {
	s.tagged = false
	if top := s.top(); top.end() {
		s.leave()
	}
}

// end counts an item of the level, and reports whether it was the last.
func (l *level) end() bool {
	l.left--
	return l.left == 0 && !l.open
}

// leave ends the last level, and each around it that ends with it.
func (s *scanner) leave() {
	for ended := true; ended; ended = s.top().end() {
		last := len(s.stack) - 1
		if s.json != nil {
			s.json.leave(s.stack[last], s.outer < last && last < maxSorted)
		}
		s.stack = s.stack[:last]
	}
}

func (s *scanner) top() *level { return &s.stack[len(s.stack)-1] }
