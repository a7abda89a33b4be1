package intern

import "hash/maphash"

const (
	// maxText is the length up to which a text is looked for. The managedFields of one
	// manager are a few KB.
	maxText = 8 << 10

	// maxBytes is how many bytes of text a generation may have. There are two.
	maxBytes = 1 << 20

	// doors is the number of texts met once that are remembered by their hash.
	doors = 1024
)

// Cache keeps what was made of a text, for when the same text comes again. The zero
// value is ready.
//
// A text is kept when it comes for the second time: most never do. What is kept is in
// one of two generations: when the younger is full, it becomes the older, and the
// older is forgotten, but for what has been asked for since.
type Cache[V any] struct {
	young, old map[string]V
	bytes      int // of the texts in young
	met        []uint32
}

// Get returns what was kept for text.
func (c *Cache[V]) Get(text []byte) (V, bool) {
	if len(text) > maxText {
		var none V
		return none, false
	}
	if v, ok := c.young[string(text)]; ok {
		return v, true
	}
	v, ok := c.old[string(text)]
	if ok {
		c.keep(string(text), v)
	}
	return v, ok
}

// Put offers what was made of a text, which Get did not find. The text is copied if it
// is kept.
func (c *Cache[V]) Put(text []byte, v V) {
	if c.Met(text) {
		c.Keep(text, v)
	}
}

// Met reports whether a text that Get did not find has been met before, and so is worth
// keeping.
func (c *Cache[V]) Met(text []byte) bool {
	if len(text) > maxText {
		return false
	}
	if c.met == nil {
		c.met = make([]uint32, doors)
	}
	h := maphash.Bytes(seed, text)
	door, mark := &c.met[h%doors], uint32(h>>32)
	if *door == mark {
		return true
	}
	*door = mark
	return false
}

// Keep keeps what was made of a text that has been met. The text is copied.
func (c *Cache[V]) Keep(text []byte, v V) { c.keep(string(text), v) }

func (c *Cache[V]) keep(text string, v V) {
	if c.bytes+len(text) > maxBytes {
		c.old, c.young, c.bytes = c.young, nil, 0
	}
	if c.young == nil {
		c.young = make(map[string]V)
	}
	c.young[text] = v
	c.bytes += len(text)
}
