package informer

// manyChanges is the number above which the map of pending changes is given up when it has become empty: a map never gives
// memory back by itself.
const manyChanges = 1024

// pending are the changes that wait for a handler: at most one for a key, in the order in which their keys came. It is a
// linked list so that a change of which nothing is left takes its place with it. The caller has a lock.
type pending[T any] struct {
	byKey       map[string]*change[T]
	first, last *change[T]
	peak        int
}

// add, update and remove say what happened to an object, and what the handler knew of it before if nothing is pending.
func (p *pending[T]) add(key string, obj T, initial bool) {
	c := p.byKey[key]
	if c == nil {
		c = p.enter(&change[T]{key: key})
	}
	c.add(obj, initial)
}

func (p *pending[T]) update(key string, old, obj T) {
	c := p.byKey[key]
	if c == nil {
		c = p.enter(&change[T]{key: key, told: true, old: old, there: true})
	}
	c.update(obj)
}

func (p *pending[T]) remove(key string, old, final T, unknown bool) {
	c := p.byKey[key]
	if c == nil {
		c = p.enter(&change[T]{key: key, told: true, old: old})
	}
	c.remove(final, unknown)
	if c.empty() {
		p.leave(c)
	}
}

// mark asks for a mark behind all that is pending now.
func (p *pending[T]) mark() { p.push(&change[T]{mark: true}) }

// has reports whether a change of key is pending.
func (p *pending[T]) has(key string) bool { return p.byKey[key] != nil }

// len returns the number of objects with a pending change.
func (p *pending[T]) len() int { return len(p.byKey) }

// take removes the oldest change; nil if there is none.
func (p *pending[T]) take() *change[T] {
	c := p.first
	if c != nil {
		p.leave(c)
	}
	return c
}

func (p *pending[T]) enter(c *change[T]) *change[T] {
	if p.byKey == nil {
		p.byKey = map[string]*change[T]{}
	}
	p.byKey[c.key] = c
	p.peak = max(p.peak, len(p.byKey))
	p.push(c)
	return c
}

func (p *pending[T]) push(c *change[T]) {
	c.prev = p.last
	if p.last == nil {
		p.first = c
	} else {
		p.last.next = c
	}
	p.last = c
}

func (p *pending[T]) leave(c *change[T]) {
	if c.prev == nil {
		p.first = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		p.last = c.prev
	} else {
		c.next.prev = c.prev
	}
	c.prev, c.next = nil, nil
	if c.mark {
		return // it has no key
	}
	delete(p.byKey, c.key)
	if len(p.byKey) == 0 && p.peak > manyChanges {
		p.byKey, p.peak = nil, 0
	}
}
