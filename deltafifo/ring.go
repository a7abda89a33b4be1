package deltafifo

// minRing is the number of slots that a ring never goes below.
const minRing = 16

// ring is a first-in first-out buffer that grows by doubling and shrinks by halving, so that a burst does not cost memory
// for ever. Its zero value is empty and ready. The number of slots is a power of two.
type ring[E any] struct {
	slots []E
	head  int // slot of the oldest element
	len   int
}

func (r *ring[E]) push(e E) {
	if r.len == len(r.slots) {
		r.resize(max(minRing, 2*r.len))
	}
	r.slots[(r.head+r.len)&(len(r.slots)-1)] = e
	r.len++
}

// pop removes the oldest element. The ring must not be empty.
func (r *ring[E]) pop() E {
	var none E
	e := r.slots[r.head]
	r.slots[r.head] = none // let go of it
	r.head = (r.head + 1) & (len(r.slots) - 1)
	r.len--
	if len(r.slots) > minRing && r.len <= len(r.slots)/4 {
		r.resize(len(r.slots) / 2)
	}
	return e
}

// at returns the element that i pops from now will return.
func (r *ring[E]) at(i int) E { return r.slots[(r.head+i)&(len(r.slots)-1)] }

// set puts an element in the place of the one that at returns for i.
func (r *ring[E]) set(i int, e E) { r.slots[(r.head+i)&(len(r.slots)-1)] = e }

func (r *ring[E]) resize(n int) {
	slots := make([]E, n)
	for i := range r.len {
		slots[i] = r.at(i)
	}
	r.slots, r.head = slots, 0
}
