package reflector

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/relist-go/relist/listwatch"
)

// Quarantined is an object that is set aside: the sink has an older version of it, or
// none, while all others are up to date.
type Quarantined struct {
	// Meta is the version that could not be used, as far as it could be read.
	Meta listwatch.Meta

	// Err is why: it could not be decoded, a transform failed, or the sink did not
	// take it.
	Err error

	// Since is when that began, and NextTry when it is looked at again. An event for
	// the object comes before that, as a rule.
	Since, NextTry time.Time
}

// quarantine holds the objects that could not be used. One leaves it when a good
// version has been applied, or when it is deleted.
//
// It belongs to the driver's goroutine.
type quarantine[T any] struct {
	rules    *rules
	fetches  bool // objects can be fetched
	patients map[string]*patient[T]
	soonest  time.Time // no patient is to be looked at before; zero if none is
	nextGet  time.Time // none is to be fetched before

	// ahead holds the versions that a Get has brought and the watch has not reached:
	// the events up to them say nothing new.
	ahead map[string]string
}

// patient is one of them.
type patient[T any] struct {
	Quarantined
	step int // of the curve

	// refused is the event that the sink did not take. If nil, there is no object
	// to apply, and it has to be fetched.
	refused *listwatch.Event[T]
}

const (
	// Looking again at an object helps when a conversion or a transform works
	// again; if the object itself is repaired, an event says so at once. So the
	// curve begins at a second and goes far.
	quarantineBase = time.Second
	quarantineCap  = 10 * time.Minute

	// getPause lies between two Gets, of which there is one at a time: when a type cannot
	// be decoded at all, there are as many patients as objects.
	getPause = 100 * time.Millisecond

	// maxRefused objects that the sink refuses are no longer an affair of objects.
	maxRefused = 100
)

func newQuarantine[T any](r *rules, fetches bool) *quarantine[T] {
	return &quarantine[T]{rules: r, fetches: fetches, patients: map[string]*patient[T]{}, ahead: map[string]string{}}
}

// admit takes an object in, or takes note that it is still bad. It reports whether
// that is news.
func (q *quarantine[T]) admit(meta listwatch.Meta, err error, refused *listwatch.Event[T], now time.Time) (news bool) {
	p, ok := q.patients[meta.Key]
	if !ok {
		p = &patient[T]{Quarantined: Quarantined{Since: now}}
		q.patients[meta.Key] = p
	}
	if p.Meta != meta {
		p.step, news = 0, true
	}
	p.Meta, p.Err, p.refused = meta, err, refused
	q.postpone(p, now)
	return news
}

// postpone says when a patient is looked at next: never, if only an event can help.
func (q *quarantine[T]) postpone(p *patient[T], now time.Time) {
	if p.refused == nil && !q.fetches {
		p.NextTry = time.Time{}
		return
	}
	delay := quarantineBase
	for range p.step {
		delay = min(2*delay, quarantineCap)
	}
	p.step++
	p.NextTry = now.Add(delay + time.Duration(q.rules.rand()*float64(delay)))
	q.soonest = earliest(q.soonest, p.NextTry)
}

// release lets an object go that is well, or gone. It reports whether it was in.
func (q *quarantine[T]) release(key string) bool {
	_, ok := q.patients[key]
	delete(q.patients, key)
	return ok
}

// relisted keeps those that are still bad in a list that was just applied, which says
// all there is to say of the others.
func (q *quarantine[T]) relisted(bad []*listwatch.ObjectError, now time.Time) {
	before := q.patients
	q.patients, q.soonest = map[string]*patient[T]{}, time.Time{}
	clear(q.ahead)
	for _, b := range bad {
		if b.Meta.Key == "" {
			continue // there is nothing to know it by
		}
		if p, ok := before[b.Meta.Key]; ok && p.Meta == b.Meta && p.refused == nil {
			q.patients[b.Meta.Key] = p
			q.soonest = earliest(q.soonest, p.NextTry)
			continue
		}
		q.admit(b.Meta, b.Err, nil, now)
	}
}

// refused counts the objects that the sink does not take.
func (q *quarantine[T]) refused() int {
	n := 0
	for _, p := range q.patients {
		if p.refused != nil {
			n++
		}
	}
	return n
}

// wake returns when a patient is to be looked at; zero if none is.
func (q *quarantine[T]) wake() time.Time { return q.soonest }

// due returns the patient whose time has come first, if any has.
func (q *quarantine[T]) due(now time.Time) *patient[T] {
	if q.soonest.IsZero() || now.Before(q.soonest) {
		return nil
	}
	var first *patient[T]
	q.soonest = time.Time{}
	for _, p := range q.patients {
		at := p.NextTry
		if p.refused == nil && !at.IsZero() {
			at = latest(at, q.nextGet)
		}
		q.soonest = earliest(q.soonest, at)
		if !due(now, at) {
			continue
		}
		if first == nil || q.order(p, first) < 0 {
			first = p
		}
	}
	return first
}

func (*quarantine[T]) order(a, b *patient[T]) int {
	return cmp.Or(a.NextTry.Compare(b.NextTry), cmp.Compare(a.Meta.Key, b.Meta.Key))
}

// list returns all of them, by key.
func (q *quarantine[T]) list() []Quarantined {
	var all []Quarantined
	for _, key := range slices.Sorted(maps.Keys(q.patients)) {
		all = append(all, q.patients[key].Quarantined)
	}
	return all
}

// overtaken reports whether an event is behind what a Get has brought of its object.
// A deletion at that very version is not: it says that the object left the selector.
func (q *quarantine[T]) overtaken(e listwatch.Event[T]) bool {
	version, ok := q.ahead[e.Meta.Key]
	if !ok {
		return false
	}
	if older(e.Meta.ResourceVersion, version) || e.Meta.ResourceVersion == version && e.Type != listwatch.Deleted {
		return true
	}
	delete(q.ahead, e.Meta.Key)
	return false
}
