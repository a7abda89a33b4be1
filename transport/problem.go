package transport

import "sync"

// problems tells the user of what went wrong without a request failing of it. What
// stays wrong in the same way is told once.
type problems struct {
	tell func(error) // nil: nobody asked

	mu   sync.Mutex
	last map[string]string // by subject, the text that was told
}

// report says how a subject is now; nil is well. The user's function is called on
// this goroutine, and under no lock.
func (p *problems) report(subject string, err error) {
	if p.tell == nil {
		return
	}
	p.mu.Lock()
	known := p.last[subject]
	text := ""
	if err != nil {
		text = err.Error()
	}
	if p.last == nil {
		p.last = make(map[string]string)
	}
	p.last[subject] = text
	p.mu.Unlock()
	if err != nil && text != known {
		p.tell(err)
	}
}
