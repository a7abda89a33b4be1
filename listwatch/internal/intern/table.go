package intern

import (
	"hash/maphash"
)

const (
	// maxString is the length up to which a string is looked for: enough for image
	// digests and URLs. Longer ones do not repeat, as a rule.
	maxString = 256

	// minSets and maxSets bound the table's size. It grows with the number of strings
	// that have passed through it, so that an idle resource of a few objects costs
	// next to nothing. With all 8,192 entries it takes 128 KB, and the strings in it at
	// most 2 MB.
	minSets, maxSets = 32, 4096

	// growAfter is how many strings may have been displaced, for each set, before the
	// table grows.
	growAfter = 8
)

// Table returns the same string for equal bytes, as long as it remembers them. The
// zero value is ready.
//
// It is a cache of sets of two: a string that has been met twice outlives those that
// were met once, such as UIDs, which come and go in great number.
type Table struct {
	sets      []set
	displaced int
}

// set holds strings in the shape of interfaces, because an interface that holds a
// string costs another allocation, which is shared too. What was found last is first.
type set [2]any

var seed = maphash.MakeSeed()

// String returns text as a string.
func (t *Table) String(text []byte) string {
	switch {
	case len(text) <= 1, len(text) > maxString:
		return string(text) // the runtime has those of one byte
	}
	return t.find(text).(string)
}

// Any returns text as a string in an interface.
func (t *Table) Any(text []byte) any {
	if len(text) == 0 || len(text) > maxString {
		return string(text)
	}
	return t.find(text)
}

func (t *Table) find(text []byte) any {
	if t.sets == nil {
		t.sets = make([]set, minSets)
	}
	s := &t.sets[maphash.Bytes(seed, text)&uint64(len(t.sets)-1)]
	if known, ok := s[0].(string); ok && known == string(text) {
		return s[0]
	}
	if known, ok := s[1].(string); ok && known == string(text) {
		s[0], s[1] = s[1], s[0]
		return s[0]
	}
	added := any(string(text))
	if s[0] == nil {
		s[0] = added
		return added
	}
	s[1] = added
	t.displaced++
	if t.displaced > growAfter*len(t.sets) && len(t.sets) < maxSets {
		t.grow()
	}
	return added
}

// grow doubles the number of sets, and keeps what is in them.
func (t *Table) grow() {
	old := t.sets
	t.sets, t.displaced = make([]set, 2*len(old)), 0
	for _, s := range old {
		for _, kept := range s {
			if text, ok := kept.(string); ok {
				t.put(text, kept)
			}
		}
	}
}

func (t *Table) put(text string, boxed any) {
	s := &t.sets[maphash.String(seed, text)&uint64(len(t.sets)-1)]
	if s[0] == nil {
		s[0] = boxed
		return
	}
	s[1] = boxed
}
