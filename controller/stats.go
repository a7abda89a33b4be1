package controller

import "time"

// Stats are numbers for metrics. The totals count from the making of the queue and never go back.
type Stats struct {
	Ready   int // keys that wait for a worker
	Initial int // of Ready: those that nothing but the first list has asked for
	Delayed int // keys that wait for a time: AddAfter, and the delays after failures
	Working int // keys that are worked on
	Held    int // keys that are not given before the caches have what Reconcile has written
	Failing int // keys whose last work failed

	Oldest     time.Duration // how long the oldest of the ready keys has been ready; 0 if none is
	Longest    time.Duration // how long the slowest of the workers has had its key; 0 if none is working
	Unfinished time.Duration // how long all workers have had the keys that they work on, in total

	Added   uint64        // how often a key became ready: it was added, or its time had come, and it was not ready already
	Given   uint64        // how often a key was given to a worker
	Retries uint64        // how often the work on a key has failed
	Waited  time.Duration // how long the keys that were given had been ready, in total: its growth divided by that of Given is a mean
	Worked  time.Duration // how long workers have had keys that are done, in total
}

// totals are the numbers of Stats that the queue counts.
type totals struct {
	failing        int
	added          uint64
	given, retries uint64
	waited, worked time.Duration
}

// Stats returns the numbers as they are now. A key of the first list that changes is ready again
// from then on.
func (q *Queue[K]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	s := Stats{
		Ready:   q.live.len + q.initial.len,
		Initial: q.initial.len,
		Delayed: len(q.times),
		Working: len(q.working) - q.held,
		Held:    q.held,
		Failing: q.totals.failing,
		Added:   q.totals.added,
		Given:   q.totals.given,
		Retries: q.totals.retries,
		Waited:  q.totals.waited,
		Worked:  q.totals.worked,
	}
	for _, l := range []*line[K]{&q.live, &q.initial} {
		if l.first != nil {
			s.Oldest = max(s.Oldest, now.Sub(l.first.since))
		}
	}
	for it := range q.working {
		if it.held {
			continue
		}
		worked := now.Sub(it.began)
		s.Longest = max(s.Longest, worked)
		s.Unfinished += worked
	}
	return s
}
