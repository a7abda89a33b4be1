package protocol

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/relist-go/relist/object"
)

// quarantine holds the keys of which the sink may not have the latest: an object that cannot be decoded, is too large, or was
// refused by a transform or the sink; one that an old event is about and that is not held; one that differs from the
// server's. All others stay up to date. A key leaves the quarantine with a good event, with an answer to an ask, or with a
// list.
type quarantine struct {
	entries map[string]*entry

	// soonest is a time before which no entry is due; zero if there is nothing to ask for.
	soonest time.Time

	// uncounted is how often an object could not be used that entries has no room for, since the last list.
	uncounted int

	// changes counts the changes of what [Machine.Quarantine] returns.
	changes int
}

// entry is one key in quarantine.
type entry struct {
	meta object.Meta // the version that could not be used, as far as it could be read
	why  cause
	err  error

	askErr error // why the last ask failed; nil if it did not, or if there was none

	// seen is the newest version of the key that is known not to be applied: an answer must be as new.
	seen string

	since, next time.Time // when it came in, and when it is asked for
	step        int       // on the curve of asks
	untaken     int       // answers in a row that could not be taken, see maxUntaken
}

// cause is why a key is in quarantine.
type cause uint8

const (
	unusable cause = iota + 1 // it cannot be decoded or transformed
	refused                   // the sink did not take it
	notKnown                  // a late event may be news or not
	differs                   // a verification found it to differ
)

const (
	// maxQuarantined keys are looked after one by one.
	maxQuarantined = 1000

	// maxRefused objects may be refused by the sink. If there are more, then the sink is at fault, and not the objects: the
	// machine lists.
	maxRefused = 100

	// Asking again helps if a conversion or a transform works again; if the object itself is repaired, an event says so
	// at once. So the curve begins at a second and goes far.
	askBase = time.Second
	askCap  = 10 * time.Minute
)

// Quarantined is a key of which the sink may not have the latest.
type Quarantined struct {
	Meta object.Meta // the version that could not be used, as far as it could be read
	Err  error

	// Since is when that began, and Next when the server is asked for the object.
	Since, Next time.Time
}

func newQuarantine() quarantine { return quarantine{entries: map[string]*entry{}} }

func (q *quarantine) len() int { return len(q.entries) + q.uncounted }

func (q *quarantine) clone() quarantine {
	c := *q
	c.entries = maps.Clone(q.entries)
	for key, e := range c.entries { // the order does not matter: each is copied by itself
		copied := *e
		c.entries[key] = &copied
	}
	return c
}

// Quarantine returns the keys in quarantine, sorted, and how many objects there are beyond those.
func (m *Machine) Quarantine() (all []Quarantined, more int) {
	for _, key := range slices.Sorted(maps.Keys(m.quarantine.entries)) {
		e := m.quarantine.entries[key]
		all = append(all, Quarantined{Meta: e.meta, Err: e.reported(), Since: e.since, Next: e.next})
	}
	return all, m.quarantine.uncounted
}

// reported is why the key is in quarantine, and why the last ask did not help.
func (e *entry) reported() error {
	if e.askErr == nil {
		return e.err
	}
	return fmt.Errorf("%w; asking for it failed: %w", e.err, e.askErr)
}

// QuarantineChanges returns a number. While it stays the same, so does what [Machine.Quarantine] returns.
func (m *Machine) QuarantineChanges() int { return m.quarantine.changes }

// setAside puts the key of an item into quarantine, or remembers that it is still bad.
func (m *Machine) setAside(now time.Time, item Item, err error, why cause) {
	if item.Meta.Key == "" { // nobody can ask for it
		m.repair.want(&m.rules, now)
		return
	}
	e, ok := m.quarantine.entries[item.Meta.Key]
	switch {
	case !ok && len(m.quarantine.entries) >= maxQuarantined:
		m.quarantine.uncounted++
		m.quarantine.changes++
		m.repair.want(&m.rules, now)
		return
	case !ok:
		e = &entry{since: now, seen: m.resume}
		m.quarantine.entries[item.Meta.Key] = e
	}
	if e.meta != item.Meta {
		e.step = 0
	}
	e.meta, e.why, e.err, e.askErr, e.untaken = item.Meta, why, err, nil, 0
	e.seen = object.Newer(e.seen, object.Newer(m.resume, item.Meta.ResourceVersion))
	m.quarantine.postpone(&m.rules, now, e)
	m.repairUnaskable(now)
}

// repairUnaskable has a list made for what is in quarantine if the server cannot be asked for single objects.
func (m *Machine) repairUnaskable(now time.Time) {
	if m.quarantine.len() > 0 && now.Before(m.askable) {
		m.repair.want(&m.rules, now)
	}
}

// postpone says when an entry is asked for next.
func (q *quarantine) postpone(r *Rules, now time.Time, e *entry) {
	delay := askBase
	for range e.step {
		delay = min(2*delay, askCap)
	}
	e.step++
	q.askAt(e, now.Add(delay+r.jitter(delay)))
}

func (q *quarantine) askAt(e *entry, at time.Time) {
	e.next = at
	q.soonest = earliest(q.soonest, at)
	q.changes++
}

// release takes a key out of quarantine, because its object is up to date or gone. It returns the entry; nil if there was none.
func (q *quarantine) release(key string) *entry {
	e, ok := q.entries[key]
	if ok {
		delete(q.entries, key)
		q.changes++
	}
	return e
}

// relisted returns the quarantine after a list. It holds what the list could not use, and nothing else. An object that is as
// bad as it was before keeps its place on the curve of asks. Answers have to be as new as the list, which may be of an older
// history.
func (q *quarantine) relisted(m *Machine, now time.Time, sum Sum) quarantine {
	after := newQuarantine()
	after.uncounted, after.changes = sum.MoreBad, q.changes+1
	for _, bad := range sum.Bad {
		key := bad.Meta.Key
		if e, ok := q.entries[key]; ok && e.meta == bad.Meta && e.why == unusable {
			same := *e // a sink that refuses the list has the entry back as it was
			same.seen = sum.Version
			after.entries[key] = &same
			after.soonest = earliest(after.soonest, e.next)
			continue
		}
		e := &entry{meta: bad.Meta, why: unusable, err: bad.Err, seen: sum.Version, since: now}
		after.entries[key] = e
		after.postpone(&m.rules, now, e)
	}
	return after
}

// refused counts the objects that the sink does not take.
func (q *quarantine) refused() int {
	n := 0
	for _, e := range q.entries { // the order does not matter for a sum
		if e.why == refused {
			n++
		}
	}
	return n
}

// due returns the key that is to be asked for first, if the time of any has come.
func (q *quarantine) due(now time.Time) (key string, ok bool) {
	if !due(now, q.soonest) {
		return "", false
	}
	q.soonest = time.Time{}
	var first *entry
	for _, e := range q.entries { // the least of a total order does not depend on the order of visits
		q.soonest = earliest(q.soonest, e.next)
		if due(now, e.next) && (first == nil || cmp.Or(e.next.Compare(first.next), cmp.Compare(e.meta.Key, first.meta.Key)) < 0) {
			first = e
		}
	}
	if first == nil {
		return "", false
	}
	return first.meta.Key, true
}

// applyRefused follows an object that the sink did not take.
func (m *Machine) applyRefused(now time.Time, undone undo, err error) {
	m.safe = undone.position.safe
	news := undone.entry == nil || undone.entry.meta != undone.item.Meta || undone.entry.why != refused
	if undone.entry != nil {
		m.quarantine.entries[undone.key] = undone.entry
	}
	m.setAside(now, undone.item, err, refused)
	if m.quarantine.refused() > maxRefused {
		if m.resume != undone.position.resume {
			m.resume, m.fences = undone.position.resume, undone.position.fences
		}
		m.listAfterRefusal(now, err)
		return
	}
	if news {
		m.emit(Problem{Class: SinkProblem, Key: undone.key, Err: err})
	}
}
