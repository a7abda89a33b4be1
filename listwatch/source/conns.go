package source

import "sync"

// conns notices if the connections of a list break while it arrives. If an API server is started
// again, all its connections break. A client may not notice, because net/http sends a request again
// if an old connection breaks before the answer.
type conns struct {
	mu      sync.Mutex
	first   func() bool // reports whether the connection of the first page was closed; nil if nothing is known
	changed bool        // it was, when the last page was answered
}

// answered takes the connection of a page. It is called before the objects of the page are read.
func (c *conns) answered(gone func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first == nil {
		c.first = gone
		return
	}
	c.changed = c.changed || c.first()
}

// reconnected reports whether the connection of the first page was closed before the last page was
// answered.
func (c *conns) reconnected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// gone reports whether the connection of the first page was closed.
func (c *conns) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.first != nil && c.first()
}

// again begins again with the first page.
func (c *conns) again() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.first, c.changed = nil, false
}
