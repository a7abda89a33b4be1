package intern

import "hash/maphash"

const (
	// maxText is the greatest length of a text that is looked up. The managedFields of one
	// manager are a few KB.
	maxText = 8 << 10

	// maxBytes is how many bytes of text one of the two generations may have.
	maxBytes = 1 << 20

	// doors is the number of places where hashes are remembered of texts that came once. Each place
	// has two, so that two texts that come in turn do not displace each other.
	doors = 512
)

// Cache keeps the value that was decoded from a text, and returns it if the same text
// comes again. The zero value is ready.
//
// A value is kept when its text comes for the second time, because most texts come only
// once. The Cache has two generations. When the younger one is full, it becomes the
// older one, and the former older one is dropped. Get moves a value from the older
// generation to the younger one.
type Cache[V any] struct {
	young, old map[string]V
	bytes      int // of the texts in young
	met        [][2]uint32
}

// Get returns the value that was kept for text.
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

// Put offers the value of a text that Get did not find. The text is copied if the value
// is kept.
func (c *Cache[V]) Put(text []byte, v V) {
	if c.Met(text) {
		c.Keep(text, v)
	}
}

// Met reports whether a text that Get did not find has come before, so that its value
// is worth keeping.
func (c *Cache[V]) Met(text []byte) bool {
	if len(text) > maxText {
		return false
	}
	if c.met == nil {
		c.met = make([][2]uint32, doors)
	}
	h := maphash.Bytes(seed, text)
	door, mark := &c.met[h%doors], uint32(h>>32)
	if door[0] == mark || door[1] == mark {
		return true
	}
	door[0], door[1] = mark, door[0]
	return false
}

// Keep keeps the value of a text for which Met was true. The text is copied.
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
