package informer

// Stats are numbers for metrics, beside those of [Informer.Status].
type Stats struct {
	Objects int // in the store
	Queued  int // objects with changes that have come and are not in the store yet

	// Handlers are those that were added and have not ended, in the order in which they were added.
	Handlers []HandlerStats
}

// HandlerStats are the numbers of one handler.
type HandlerStats struct {
	Name    string // Handler.Name
	Pending int    // objects with a change that the handler has not got yet
}

// Stats returns the numbers as they are now. Callbacks may call it, and the functions of [reflector.Trace], too.
func (in *Informer[T]) Stats() Stats {
	s := Stats{Objects: in.store.Len(), Queued: in.queue.Len()}
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, h := range in.members {
		if !h.hasQuit() {
			s.Handlers = append(s.Handlers, HandlerStats{Name: h.handler.Name, Pending: h.len()})
		}
	}
	return s
}
