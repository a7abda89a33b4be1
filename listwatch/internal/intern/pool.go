package intern

import "sync"

// Pool hands out values that belong to one goroutine at a time, and takes them back.
// It keeps one: a resource is decoded by one goroutine, as a rule, and what a second
// one has learned meanwhile is not worth its memory.
//
// A sync.Pool would forget, with the next garbage collection, all that was interned.
//
// New must be set.
type Pool[V any] struct {
	// New makes a value. It is called by Get, when there is none to hand out.
	New func() *V

	mu   sync.Mutex
	idle *V
}

// Get returns the value that is kept, or a new one.
func (p *Pool[V]) Get() *V {
	p.mu.Lock()
	v := p.idle
	p.idle = nil
	p.mu.Unlock()
	if v == nil {
		v = p.New()
	}
	return v
}

// Put gives a value back.
func (p *Pool[V]) Put(v *V) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = v
}
