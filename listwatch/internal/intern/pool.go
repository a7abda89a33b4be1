package intern

import "sync"

// Pool hands out values that one goroutine at a time may use, and takes them back.
// It keeps one value only, because usually one goroutine decodes a resource, and a
// second value is not worth its memory.
//
// A sync.Pool would drop the value, and all that it has interned, at the next
// garbage collections.
//
// New must be set.
type Pool[V any] struct {
	// New makes a value. Get calls it if the Pool holds none.
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
