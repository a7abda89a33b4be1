package informer

// manyChanges: if the map of pending changes has held more keys than this, it is dropped when it is
// empty, because a map never gives memory back.
const manyChanges = 1024

// change holds the news about one object that a handler has not got yet. Whatever happens to the
// object meanwhile, a change has one of four forms, or is empty:
//
//	told  gone  there
//	no    no    yes    OnAdd(obj)
//	yes   no    yes    OnUpdate(old, obj)
//	yes   yes   no     OnDelete(final)
//	yes   yes   yes    OnDelete(final), OnAdd(obj)
//	no    no    no     nothing: it came and went
type change[T any] struct {
	key string

	told bool // the handler knows an object of this key
	old  T    // if told: the state that the handler knows

	gone     bool // the object that the handler knows was deleted
	final    T    // if gone: the last known state of that object
	inferred bool // if gone: nobody saw the final state, and final may be an older one

	there   bool // there is an object of this key now
	obj     T    // if there: its latest state
	initial bool // if there: it was in the first list, or in the store when the handler was added

	mark func() // if not nil, this is no change of an object, and has no key: when its turn comes, the handler calls mark

	prev, next *change[T] // in pending
}

// add records that there is an object, after there was none.
func (c *change[T]) add(obj T, initial bool) {
	c.there, c.obj, c.initial = true, obj, initial
}

// update records a later state of the object that is there.
func (c *change[T]) update(obj T) { c.obj = obj }

// remove records that the object is no longer there.
func (c *change[T]) remove(final T, inferred bool) {
	if c.told && !c.gone {
		c.gone, c.final, c.inferred = true, final, inferred
	}
	// Otherwise the handler was never told of the object that is gone.
	var none T
	c.there, c.obj, c.initial = false, none, false
}

// empty reports whether nothing is left to tell.
func (c *change[T]) empty() bool { return !c.there && !c.gone }

// pending are the changes that wait for a handler: at most one for a key, in the order in which
// their keys came. The changes form a linked list, because a change that cancels out is removed
// from the middle. The links are in the change itself, because container/list would need one more
// allocation for each change. The caller holds a lock.
type pending[T any] struct {
	byKey       map[string]*change[T]
	first, last *change[T]
	peak        int

	// border is nil, or a mark behind which changes wait until it is lifted. While the first list
	// is on its way, the initial objects go before it, and everything else behind it.
	border *change[T]
}

// add, update and remove record what happened to an object. If no change of the object is pending,
// the parameter old is the state that the handler knows; otherwise it is not used.
func (p *pending[T]) add(key string, obj T, initial bool) {
	c := p.byKey[key]
	if c == nil {
		var next *change[T]
		if initial {
			next = p.border
		}
		c = p.enter(&change[T]{key: key}, next)
	}
	c.add(obj, initial)
}

func (p *pending[T]) update(key string, old, obj T) {
	c := p.byKey[key]
	if c == nil {
		c = p.enter(&change[T]{key: key, told: true, old: old, there: true}, nil)
	}
	c.update(obj)
}

func (p *pending[T]) remove(key string, old, final T, inferred bool) {
	c := p.byKey[key]
	if c == nil {
		c = p.enter(&change[T]{key: key, told: true, old: old}, nil)
	}
	c.remove(final, inferred)
	if c.empty() {
		p.leave(c)
	}
}

// mark makes the handler call f when it has been told of everything that is pending now.
func (p *pending[T]) mark(f func()) { p.insert(&change[T]{mark: f}, nil) }

// hold sets the border behind what is pending now.
func (p *pending[T]) hold() {
	p.mark(func() {}) // it is never called
	p.border = p.last
}

// lift makes the handler call each of fs when it has been told of what is before the border, and
// then removes the border. If there is no border, the handler calls them after everything that is
// pending.
func (p *pending[T]) lift(fs ...func()) {
	for _, f := range fs {
		p.insert(&change[T]{mark: f}, p.border)
	}
	if p.border != nil {
		p.leave(p.border)
		p.border = nil
	}
}

func (p *pending[T]) has(key string) bool { return p.byKey[key] != nil }

func (p *pending[T]) len() int { return len(p.byKey) }

// take removes the oldest change and returns it. If the border is the oldest, or if nothing is
// pending, take returns nil.
func (p *pending[T]) take() *change[T] {
	c := p.first
	if c == p.border {
		return nil
	}
	p.leave(c)
	return c
}

// enter adds a change of an object before next, or at the end if next is nil.
func (p *pending[T]) enter(c, next *change[T]) *change[T] {
	if p.byKey == nil {
		p.byKey = map[string]*change[T]{}
	}
	p.byKey[c.key] = c
	p.peak = max(p.peak, len(p.byKey))
	p.insert(c, next)
	return c
}

func (p *pending[T]) insert(c, next *change[T]) {
	c.next = next
	if next == nil {
		c.prev, p.last = p.last, c
	} else {
		c.prev, next.prev = next.prev, c
	}
	if c.prev == nil {
		p.first = c
	} else {
		c.prev.next = c
	}
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
	if c.mark != nil {
		return // it has no key
	}
	delete(p.byKey, c.key)
	if len(p.byKey) == 0 && p.peak > manyChanges {
		p.byKey, p.peak = nil, 0
	}
}
