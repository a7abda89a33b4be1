package record

// queue knows how many entries there are in the client's queue at most: one for
// each key that was spoken of.
type queue struct {
	known  map[string]bool
	queued map[string]bool
	listed map[string]bool // by the pages so far of a list that goes on
}

func newQueue() queue {
	return queue{known: map[string]bool{}, queued: map[string]bool{}, listed: map[string]bool{}}
}

// said takes note of what the client has been told.
func (q *queue) said(what said) {
	switch what := what.(type) {
	case *list:
		for i := range what.objects {
			q.listed[what.objects[i].key()] = true
		}
		if what.token != "" {
			return
		}
		for key := range q.known { // what the list lacks is gone, and said to be
			q.queued[key] = true
		}
		for key := range q.listed {
			q.queued[key] = true
		}
		q.known, q.listed = q.listed, map[string]bool{}
	case *event:
		key := what.object.key()
		q.queued[key] = true
		if what.typ == "DELETED" {
			delete(q.known, key)
		} else {
			q.known[key] = true
		}
	}
}

// take returns the number, and begins again.
func (q *queue) take() int {
	n := len(q.queued)
	clear(q.queued)
	return n
}
