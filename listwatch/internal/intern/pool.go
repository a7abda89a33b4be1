package intern

import "sync"

// Pool hands out values that belong to one goroutine at a time, and takes them back.
// It keeps one: a resource is decoded by one goroutine, as a rule, and what a second
// one has learned meanwhile is not worth its memory.
//
// A sync.Pool would forget, with the next garbage collection, all that was interned.
type Pool[V any] struct {
	mu   sync.Mutex
	idle *V
}

// Get returns the value that is kept, or a new one.
func (p *Pool[V]) Get() *V {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.idle
	if v == nil {
		return new(V)
	}
	p.idle = nil
	return v
}

// Put gives a value back.
func (p *Pool[V]) Put(v *V) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = v
}
