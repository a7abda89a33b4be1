package protocol

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/relist-go/relist/object"
)

// quarantine holds the keys whose latest state the sink may lack. It exists so that one bad object
// does not stop the others: they stay up to date, and the machine refetches the keys in quarantine
// one by one.
//
// When it starts for a key:
//
//   - Its object cannot be decoded or is too large, or a transform failed.
//   - The sink refused its object.
//   - An event of the key was older than the resume version, so the event may no longer be true.
//   - A verification found a difference.
//   - It has a refetch version, and another server may answer from now on, see [quarantine.suspect].
//   - The machine started with a saved copy, and the key is an unsure key of that copy.
//
// When it ends: an event of the key that can be used, an answer to a refetch, or a list.
type quarantine struct {
	rules   *Rules
	entries map[string]*entry

	// soonest is a time before which no entry is due; zero if there is nothing to ask for.
	soonest time.Time

	// beyondLimit counts the objects that could not be used, and for which entries had no room.
	// Each list begins the count again. One object may count several times.
	beyondLimit int

	// changes is raised whenever the result of [Machine.Quarantine] changes.
	changes int

	versions       refetchVersions // keys for which the sink is ahead of the resume version, see refetched.go
	repair         repair          // the list that is made if refetches do not help, see repair.go
	noRefetchUntil time.Time       // no key in quarantine is asked for before this, because an answer could not be used; zero if there was no such answer
}

// entry is one key in quarantine.
type entry struct {
	meta object.Meta // the version that could not be used, as far as it could be read
	why  cause
	err  error

	refetchErr error // why the last refetch failed; nil if it did not, or if there was none

	// minVersion: an answer that is older than this is not used, because the machine has seen this
	// version of the key, or of the resource, already.
	minVersion string

	since, next   time.Time // when it came in, and when it is asked for
	step          int       // how many refetches there were: the place on the backoff schedule
	answersUnused int       // answers in a row that were not used, see maxAnswersUnused
}

// cause is the kind of fault that put a key into quarantine.
type cause uint8

const (
	unusable        cause = iota + 1 // it cannot be decoded or transformed
	sinkRefused                      // the sink did not take it
	deletionRefused                  // the sink did not delete it
	outOfOrder                       // what came may no longer be true: a late event, an unsure key, a refetch version of another server
	differs                          // a verification found it to differ
)

const (
	// maxQuarantined is the number of keys that are asked for one by one.
	maxQuarantined = 1000

	// If the sink has refused more than maxRefused of the objects in quarantine, the fault is
	// probably in the sink and not in the objects. The machine then lists.
	maxRefused = 100

	// The delays between refetches of one key double from refetchBase to refetchCap. A refetch
	// helps if a conversion or a transform works again. If the object itself is repaired, an event
	// brings it.
	refetchBase = time.Second
	refetchCap  = 10 * time.Minute
)

// Quarantined is an object whose latest version the sink may lack.
type Quarantined struct {
	// Meta is the version that could not be used, as far as it could be read.
	Meta object.Meta

	// Err is the cause: the object could not be decoded, a transform failed, the sink did not take
	// the object, or the sink's object differs from the server's.
	Err error

	// Since is when the object came into quarantine, and NextTry is when the server is asked for it
	// next. If the object is repaired before NextTry, the event of that change takes it out of
	// quarantine.
	Since, NextTry time.Time
}

func newQuarantine(rules *Rules) quarantine {
	return quarantine{rules: rules, entries: map[string]*entry{}, repair: repair{rules: rules}}
}

func (q *quarantine) len() int { return len(q.entries) + q.beyondLimit }

// Quarantine returns the keys in quarantine, sorted, and how many objects there are beyond those.
func (m *Machine) Quarantine() (all []Quarantined, more int) {
	for _, key := range slices.Sorted(maps.Keys(m.quarantine.entries)) {
		e := m.quarantine.entries[key]
		all = append(all, Quarantined{Meta: e.meta, Err: e.reported(), Since: e.since, NextTry: e.next})
	}
	return all, m.quarantine.beyondLimit
}

// reported returns the cause of the quarantine. If the last refetch failed, the error also has the
// cause of that.
func (e *entry) reported() error {
	if e.refetchErr == nil {
		return e.err
	}
	return fmt.Errorf("%w; asking for it failed: %w", e.err, e.refetchErr)
}

// QuarantineChanges returns a number. While the number stays the same, [Machine.Quarantine] returns
// the same entries.
func (m *Machine) QuarantineChanges() int { return m.quarantine.changes }

// put puts the key of an item into quarantine. If the key is there already, its entry is brought up
// to date. If the entry had this version and this cause, that is no news.
func (q *quarantine) put(now time.Time, resume string, item Item, err error, why cause) (news bool) {
	if item.Meta.Key == "" { // no request can name it
		q.repair.wantUnnamed(now)
		return true
	}
	e, ok := q.entries[item.Meta.Key]
	switch {
	case !ok && len(q.entries) >= maxQuarantined:
		q.beyondLimit++
		q.changes++
		q.repair.want(now)
		return true
	case !ok:
		e = &entry{since: now, minVersion: resume}
		q.entries[item.Meta.Key] = e
	}
	news = !ok || e.meta != item.Meta || e.why != why
	if e.meta != item.Meta {
		e.step = 0
	}
	e.meta, e.why, e.err, e.refetchErr, e.answersUnused = item.Meta, why, err, nil, 0
	e.minVersion = object.Newer(e.minVersion, object.Newer(resume, item.Meta.ResourceVersion))
	q.postpone(now, e)
	q.repairInstead(now)
	return news
}

var errSaved = errors.New("the saved copy may lack the latest state of it")

// saved writes down what a copy that is saved now may lack.
func (q *quarantine) saved(p *Point) { p.Unsure, p.MoreUnsure = q.unsure(), q.beyondLimit }

// resumeSaved continues from a saved copy: the keys that it names are refetched, and if it counts
// more, a list follows.
func (q *quarantine) resumeSaved(now time.Time, p Point) {
	for _, key := range p.Unsure {
		q.put(now, p.Version, Item{Meta: object.Meta{Key: key}}, errSaved, outOfOrder)
	}
	if p.MoreUnsure > 0 {
		q.beyondLimit += p.MoreUnsure
		q.changes++
		q.repair.want(now)
	}
}

// repairInstead plans a list for repair, if something is in quarantine and the server cannot be
// asked for single keys.
func (q *quarantine) repairInstead(now time.Time) {
	if q.len() > 0 && now.Before(q.noRefetchUntil) {
		q.repair.want(now)
	}
}

// postpone sets the time of an entry's next refetch.
func (q *quarantine) postpone(now time.Time, e *entry) {
	delay := refetchBase
	for range e.step {
		delay = min(2*delay, refetchCap)
	}
	e.step++
	q.refetchAt(e, now.Add(delay+q.rules.jitter(delay)))
}

func (q *quarantine) refetchAt(e *entry, at time.Time) {
	e.next = at
	q.soonest = earliest(q.soonest, at)
	q.changes++
}

// release takes a key out of quarantine, because its object is up to date or gone.
func (m *Machine) release(key string) {
	if q := &m.quarantine; q.entries[key] != nil {
		delete(q.entries, key)
		q.changes++
		m.emit(Released{key})
	}
}

// listed takes a list that the sink has, and returns the keys that are released. The items of the
// list that cannot be used are in quarantine then. An object that was there already at the same
// version keeps its place on the backoff schedule. From now on, an answer to a refetch must not be
// older than the list. It may be older than what came before the list, because the list may be of
// an older history. If the list has items without a readable name, or too many that cannot be used,
// a repair follows.
func (q *quarantine) listed(now time.Time, sum Sum) (released []string) {
	before := q.entries
	q.entries, q.soonest, q.versions = map[string]*entry{}, time.Time{}, nil
	q.beyondLimit, q.changes = sum.MoreBad, q.changes+1
	for _, bad := range sum.Bad {
		key := bad.Meta.Key
		if e, ok := before[key]; ok && e.meta == bad.Meta && e.why == unusable {
			e.minVersion = sum.Version
			q.entries[key] = e
			q.soonest = earliest(q.soonest, e.next)
			continue
		}
		e := &entry{meta: bad.Meta, why: unusable, err: bad.Err, minVersion: sum.Version, since: now}
		q.entries[key] = e
		q.postpone(now, e)
	}
	q.repair.listed(now)
	if sum.Nameless > 0 {
		q.repair.wantUnnamed(now)
	}
	if q.beyondLimit > 0 {
		q.repair.want(now)
	}
	q.repairInstead(now)
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if q.entries[key] == nil {
			released = append(released, key)
		}
	}
	return released
}

// sinkRefusals counts the objects that the sink has refused.
func (q *quarantine) sinkRefusals() int {
	n := 0
	for _, e := range q.entries { // the order does not matter for a sum
		if e.why == sinkRefused || e.why == deletionRefused {
			n++
		}
	}
	return n
}

// due returns the key to ask for next, if one is due. If the server cannot be asked for single
// keys, a list is planned instead.
func (q *quarantine) due(now time.Time) (key string, ok bool) {
	if !due(now, q.soonest) {
		return "", false
	}
	q.soonest = time.Time{}
	var first *entry
	for _, e := range q.entries { // the order does not matter: times and keys decide which is first
		q.soonest = earliest(q.soonest, e.next)
		if due(now, e.next) && (first == nil || cmp.Or(e.next.Compare(first.next), cmp.Compare(e.meta.Key, first.meta.Key)) < 0) {
			first = e
		}
	}
	switch {
	case first == nil:
		return "", false
	case now.Before(q.noRefetchUntil):
		q.repair.want(now)
		q.postpone(now, first)
		return "", false
	}
	return first.meta.Key, true
}
