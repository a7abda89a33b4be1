package informer

// change is what a handler has not been told about one object yet. However much happens to the object meanwhile, there are
// four forms of it, and empty:
//
//	told  gone  there
//	no    no    yes    OnAdd(obj)
//	yes   no    yes    OnUpdate(old, obj)
//	yes   yes   no     OnDelete(final)
//	yes   yes   yes    OnDelete(final), OnAdd(obj)
//	no    no    no     nothing: it came and went
type change[T any] struct {
	key string

	told bool // the handler knows the object
	old  T    // as this

	gone    bool // that object was deleted
	final   T    // in this state
	unknown bool // or another, for nobody saw it

	there   bool // there is one now
	obj     T    // in this state
	initial bool // and it was in the first list, or in the store when the handler came

	mark bool // no object: the handler has synced when it gets here

	prev, next *change[T] // in pending
}

// add takes note that there is an object, after there was none.
func (c *change[T]) add(obj T, initial bool) {
	c.there, c.obj, c.initial = true, obj, initial
}

// update takes note of a later state of the object that is there.
func (c *change[T]) update(obj T) { c.obj = obj }

// remove takes note that the object is no longer there.
func (c *change[T]) remove(final T, unknown bool) {
	if c.told && !c.gone {
		c.gone, c.final, c.unknown = true, final, unknown
	}
	// Else what went is something that the handler was never told of.
	var none T
	c.there, c.obj, c.initial = false, none, false
}

// empty reports whether there is nothing left to say.
func (c *change[T]) empty() bool { return !c.there && !c.gone && !c.mark }
