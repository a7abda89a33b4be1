package controller

import (
	"container/heap"
	"time"
)

// item is what the queue knows of a key. It is ready, or waits for a time, or is worked on; while
// it is worked on it may also wait for a time, or have been added again. An item that has nothing
// of this and no failures is dropped.
type item[K comparable] struct {
	key K

	failures  int       // since the last Forget
	notBefore time.Time // if failures > 0: no change brings the key forward of this
	live      bool      // it was added by other means than AddInitial since it was last given

	line       *line[K] // the line that the key is ready in; nil if it is not ready
	prev, next *item[K] // in line
	since      time.Time

	due   time.Time // if place is not none: when the key becomes ready
	place int       // in times

	working   bool
	held      bool // the work is over, and Done follows when the caches have what it wrote
	began     time.Time
	givenLive bool // live, when it was given
	again     bool // it was added while it was worked on
}

// none is the place of an item that waits for no time.
const none = -1

// given notes that a worker has the key. Whatever was asked for until now is met by that.
func (it *item[K]) given(now time.Time) {
	it.working, it.began = true, now
	it.givenLive, it.live = it.live, false
}

// item returns the item of a key. If the key is new, item makes one. The caller holds mu, as for
// all methods here.
func (q *Queue[K]) item(key K) *item[K] {
	it := q.items[key]
	if it == nil {
		it = &item[K]{key: key, place: none}
		q.items[key] = it
		q.peak = max(q.peak, len(q.items))
	}
	return it
}

// drop removes an item that has nothing to remember.
func (q *Queue[K]) drop(it *item[K]) {
	if it.working || it.line != nil || it.place != none || it.failures > 0 && !q.ending {
		return
	}
	delete(q.items, it.key)
	if len(q.items) == 0 && q.peak > manyItems {
		q.items, q.peak = map[K]*item[K]{}, 0
	}
}

// want sees to it that a key is given, not before due.
func (q *Queue[K]) want(it *item[K], now, due time.Time, live bool) {
	it.live = it.live || live
	if due.Before(it.notBefore) {
		due = it.notBefore
	}
	switch {
	case it.line != nil:
		q.enqueue(it, now) // it may be live only now
	case it.again:
		// It comes after Done, which is soon enough.
	case due.After(now):
		q.schedule(it, now, due)
	case it.working:
		q.unschedule(it)
		it.again = true
	default:
		q.unschedule(it)
		q.enqueue(it, now)
	}
}

// enqueue makes a key ready. A key of the first list that has changed goes to the end of the live
// ones.
func (q *Queue[K]) enqueue(it *item[K], now time.Time) {
	to := &q.initial
	if it.live {
		to = &q.live
	}
	if it.line == to {
		return
	}
	if it.line != nil {
		it.line.remove(it)
	} else {
		q.totals.added++
	}
	it.since = now
	to.push(it)
	q.signal()
}

// schedule lets a key wait for a time, unless it waits for an earlier one.
func (q *Queue[K]) schedule(it *item[K], now, due time.Time) {
	switch {
	case it.place == none:
		it.due = due
		heap.Push(&q.times, it)
	case due.Before(it.due):
		it.due = due
		heap.Fix(&q.times, it.place)
	default:
		return
	}
	q.arm(now)
}

// postpone lets a key that waits for a time before notBefore wait until then.
func (q *Queue[K]) postpone(it *item[K]) {
	if it.place != none && it.due.Before(it.notBefore) {
		it.due = it.notBefore
		heap.Fix(&q.times, it.place)
	}
}

func (q *Queue[K]) unschedule(it *item[K]) {
	if it.place != none {
		heap.Remove(&q.times, it.place)
	}
}

// arm sets the timer for the first time. If the timer rings too early, because a key no longer
// waits, ring arms it again.
func (q *Queue[K]) arm(now time.Time) {
	if len(q.times) == 0 {
		return
	}
	first := q.times[0].due
	if !q.armed.IsZero() && !first.Before(q.armed) {
		return
	}
	q.armed = first
	if q.timer == nil {
		q.timer = time.AfterFunc(first.Sub(now), q.ring)
		return
	}
	q.timer.Reset(first.Sub(now))
}

// ring makes the keys ready whose time has come.
func (q *Queue[K]) ring() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	q.armed = time.Time{}
	for len(q.times) > 0 && !q.times[0].due.After(now) {
		it := q.times[0]
		q.unschedule(it)
		if it.working {
			it.again = true
		} else {
			q.enqueue(it, now)
		}
	}
	q.arm(now)
}

// line is a list of keys that are ready, oldest first. It is linked through the items, because a
// key of the first list that changes leaves its line from the middle.
type line[K comparable] struct {
	first, last *item[K]
	len         int
}

func (l *line[K]) push(it *item[K]) {
	it.line, it.prev = l, l.last
	if l.last == nil {
		l.first = it
	} else {
		l.last.next = it
	}
	l.last = it
	l.len++
}

func (l *line[K]) remove(it *item[K]) {
	if it.prev == nil {
		l.first = it.next
	} else {
		it.prev.next = it.next
	}
	if it.next == nil {
		l.last = it.prev
	} else {
		it.next.prev = it.prev
	}
	it.line, it.prev, it.next = nil, nil, nil
	l.len--
}

// times is a heap of the keys that wait for a time, as container/heap wants it.
type times[K comparable] []*item[K]

func (t times[K]) Len() int           { return len(t) }
func (t times[K]) Less(i, j int) bool { return t[i].due.Before(t[j].due) }

func (t times[K]) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].place, t[j].place = i, j
}

// Push and Pop are called by container/heap only.
func (t *times[K]) Push(x any) {
	it := x.(*item[K])
	it.place = len(*t)
	*t = append(*t, it)
}

func (t *times[K]) Pop() any {
	last := len(*t) - 1
	it := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	it.place = none
	return it
}
