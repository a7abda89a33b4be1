package intern

import (
	"hash/maphash"
)

const (
	// MaxString is the greatest length of a string that is looked up. It is enough for
	// image digests and URLs; longer strings usually do not repeat.
	MaxString = 256

	// minSets and maxSets bound the table's size. The table grows with the number of
	// strings that have passed through it, so a resource with few objects costs next to
	// nothing. With all 8,192 entries the table takes 160 KB, and 128 KB more if Any is
	// called. The strings in it take at most 2 MB.
	minSets, maxSets = 32, 4096

	// growAfter is how many strings for each set may be displaced before the table grows.
	growAfter = 8
)

// Table returns the same string for equal bytes, as long as it remembers them. The
// zero value is ready.
//
// It is a cache of sets of two strings. A string that has come twice outlives strings
// that came once. So the many UIDs, which come once, do not displace it.
type Table struct {
	sets      []set
	boxes     []boxes // as many, once Any was called
	displaced int
}

// set holds two strings; "" stands for no string. The string that was found last comes
// first.
type set struct {
	texts [2]string

	// marks are the bits of the strings' hashes that did not choose the set. Without them,
	// find would compare with the bytes of other strings elsewhere in memory, which would
	// take longer than the rest of find.
	marks [2]uint32
}

// boxes are the strings of a set in interfaces, if Any was called for them. An
// interface that holds a string costs an allocation, which is thereby shared, too.
type boxes [2]any

var seed = maphash.MakeSeed()

// String returns text as a string.
func (t *Table) String(text []byte) string {
	if len(text) <= 1 || len(text) > MaxString {
		return string(text) // the runtime does not allocate for one byte
	}
	i, place := t.find(text)
	return t.sets[i].texts[place]
}

// Any returns text as a string in an interface.
func (t *Table) Any(text []byte) any {
	if len(text) == 0 || len(text) > MaxString {
		return string(text)
	}
	i, place := t.find(text)
	if t.boxes == nil {
		t.boxes = make([]boxes, len(t.sets))
	}
	box := &t.boxes[i][place]
	if *box == nil {
		*box = t.sets[i].texts[place]
	}
	return *box
}

// find returns the position of text. If the table does not have text, find puts it
// there.
func (t *Table) find(text []byte) (i, place int) {
	if t.sets == nil {
		t.sets = make([]set, minSets)
	}
	i, mark := t.place(maphash.Bytes(seed, text))
	s := &t.sets[i]
	if s.marks[0] == mark && s.texts[0] == string(text) {
		return i, 0
	}
	if s.marks[1] == mark && s.texts[1] == string(text) {
		t.swap(i)
		return i, 0
	}
	if s.texts[0] == "" {
		s.texts[0], s.marks[0] = string(text), mark
		return i, 0
	}
	if t.displaced++; t.displaced > growAfter*len(t.sets) && len(t.sets) < maxSets {
		t.grow()
		return t.find(text)
	}
	s.texts[1], s.marks[1] = string(text), mark
	if t.boxes != nil {
		t.boxes[i][1] = nil
	}
	return i, 1
}

func (t *Table) place(hash uint64) (i int, mark uint32) {
	return int(hash & uint64(len(t.sets)-1)), uint32(hash >> 32) // the first result is less than maxSets
}

func (t *Table) swap(i int) {
	s := &t.sets[i]
	s.texts[0], s.texts[1] = s.texts[1], s.texts[0]
	s.marks[0], s.marks[1] = s.marks[1], s.marks[0]
	if t.boxes != nil {
		b := &t.boxes[i]
		b[0], b[1] = b[1], b[0]
	}
}

// grow doubles the number of sets, and keeps their strings.
func (t *Table) grow() {
	sets, boxed := t.sets, t.boxes
	t.sets, t.displaced = make([]set, 2*len(sets)), 0
	if boxed != nil {
		t.boxes = make([]boxes, len(t.sets))
	}
	for i, s := range sets {
		for place, text := range s.texts {
			if text == "" {
				continue
			}
			to, at := t.put(text)
			if boxed != nil {
				t.boxes[to][at] = boxed[i][place]
			}
		}
	}
}

func (t *Table) put(text string) (i, place int) {
	i, mark := t.place(maphash.String(seed, text))
	s := &t.sets[i]
	if s.texts[0] != "" {
		place = 1
	}
	s.texts[place], s.marks[place] = text, mark
	return i, place
}
