package protocol

import (
	"errors"
	"fmt"
	"time"

	"github.com/relist-go/relist/object"
)

// lists is what the machine has learned about how to ask this server for the whole state.
type lists struct {
	// paged: a list that the watch cache should have answered whole came in pages, so there is no watch cache, and every
	// list is paged from now on.
	paged bool

	// sameVersion is the version that the last list was asked for at, if it brought no later one.
	sameVersion string

	// outrun counts the lists in a row that took longer than the server's window of events, so that it could not watch from
	// them. No list is asked for before streamUntil, but initial events.
	outrun      int
	streamUntil time.Time

	// incomplete counts the streams in a row whose initial events did not come to an end. No initial events are asked for
	// before listUntil, but a list.
	incomplete int
	listUntil  time.Time
}

const defaultPageSize = 500

// sync asks for the whole state, in the way that the options say, if the pace allows a request now.
func (m *Machine) sync(now time.Time) {
	kind := m.wholeState(now)
	if wait := m.pauses.until(m.rules, kind, now); wait > 0 {
		m.waitUntil(now.Add(wait), toList)
		return
	}
	m.cancelBeside()
	if kind == toWatch {
		m.becomeStreaming(now)
		return
	}
	m.becomeListing(now)
}

// wholeState is the kind of the request that asks for the whole state.
func (m *Machine) wholeState(now time.Time) next {
	if (m.rules.Initial == InitialEvents || now.Before(m.lists.streamUntil)) && !now.Before(m.lists.listUntil) {
		return toWatch
	}
	return toList
}

// syncAfterWait asks for the whole state now or, if a wait is under way, after it: the server may have asked for the wait.
func (m *Machine) syncAfterWait(now time.Time) {
	if p, ok := m.phase.(*waiting); ok && now.Before(p.until) {
		m.waitUntil(p.until, toList)
		return
	}
	m.sync(now)
}

// becomeListing asks for a list at the version that was last applied, so that the answer can come from the server's watch
// cache and cannot be older than what the sink holds. A first list takes any version that the server has cached.
//
// resourceVersionMatch is left out: a resourceVersion alone means "not older than". With a limit it means exactly this
// version, for as long as the server keeps it, so such a list may bring nothing new: see [Machine.relist].
// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
func (m *Machine) becomeListing(now time.Time) {
	version := m.floor()
	if version == "" && m.rules.Initial == ListAny {
		version = "0"
	}
	p := &listing{version: version, asked: now, heard: now}
	reuse := m.rules.SinkTells && m.resume != "" && !m.distrusted && m.wanted == m.served
	if m.mostRecent() {
		p.version, p.serves = "", m.wanted
	}
	m.phase = p
	m.pauses.take(m.rules, toList, now)
	m.emit(List{Version: p.version, Limit: m.limit(p.version), Reuse: reuse})
}

// floor is the version that no whole state may be older than: the sink has had something of it.
func (m *Machine) floor() string {
	floor := m.resume
	for _, fence := range m.fences { // the order does not matter for a maximum
		floor = object.Newer(floor, fence)
	}
	return floor
}

// mostRecent reports whether nothing but the most recent state will do. While a call that asked for a list has not got one,
// it will not, whatever has become of the lists since.
func (m *Machine) mostRecent() bool { return m.refused || m.repair.due() || m.wanted > m.served }

// limit is the page size of a list at version.
//
// A list at a given version is not paged unless that is asked for, because a limit used to send it past the watch cache to
// etcd. One at "0" carries a limit for servers without a watch cache, and "" goes to etcd in any case.
func (m *Machine) limit(version string) int64 {
	switch {
	case m.rules.PageSize != 0:
		return max(m.rules.PageSize, 0)
	case m.lists.paged, object.Any(version):
		return defaultPageSize
	}
	return 0
}

// impatient returns when a silent answer is given up; zero for never.
func (m *Machine) impatient(heard time.Time) time.Time {
	if m.rules.Patience == 0 {
		return time.Time{}
	}
	return heard.Add(m.rules.Patience)
}

// listed gives the list to the sink, and watches from it on.
func (m *Machine) listed(now time.Time, p *listing, sum Sum) {
	if sum.Conflict != nil {
		m.listWentBack(now, sum.Conflict)
		return
	}
	if object.Any(sum.Version) {
		sum.Version = ""
	}
	if _, err := advance(m.floor(), sum.Version); err != nil && m.floor() != "" || sum.Version == "" {
		if p.version != "" && errors.Is(err, errOlder) {
			m.listWentBack(now, err)
			return
		}
		m.emit(Problem{Class: VersionProblem, Err: err})
	}
	if err := m.undecodable(sum); err != nil {
		failure := Failure{Reason: Malformed, Err: err}
		m.emit(Refuse{failure.Err})
		m.listFailed(now, p, failure)
		return
	}
	m.replace(now, sum)
	m.lists.sameVersion = ""
	switch sum.Version {
	case "":
		m.refused = true // nobody knows how recent the list was, so what follows must not be any state
	case p.version:
		m.lists.sameVersion = sum.Version
	}
	m.lists.paged = m.lists.paged || p.version == "0" && sum.Pages > 1
	m.served = max(m.served, p.serves)
	if p.again {
		m.refused = true
		m.becomeListing(now)
		return
	}
	m.becomeWatching(now)
	if w, ok := m.phase.(*watching); ok {
		w.afterLongList = now.Sub(p.asked) >= short
	}
}

// errUndecodable is the failure of a first list that has objects and none that can be decoded: to replace nothing with
// nothing and call it synced would hide that the object type is wrong.
var errUndecodable = errors.New("none of the objects in the list can be decoded")

// undecodable says why a list is no first state to begin with, or returns nil.
func (m *Machine) undecodable(sum Sum) error {
	switch {
	case m.synced || sum.Items > 0:
		return nil
	case len(sum.Bad) > 0:
		return fmt.Errorf("%w: %w", errUndecodable, sum.Bad[0].Err)
	case sum.Nameless > 0:
		return fmt.Errorf("%w: %w", errUndecodable, sum.Unnamed)
	}
	return nil
}

// replace gives the whole state to the sink. What was known of single objects is forgotten, because the list says all that there
// is to say; only an item without a readable name is left to a repair.
func (m *Machine) replace(now time.Time, sum Sum) {
	m.undo = undo{
		sink: replaced, position: m.position, recent: m.recent,
		quarantine: m.quarantine, repair: m.repair, doubt: m.doubt, health: m.health, served: m.served,
	}
	m.emit(Replace{Version: sum.Version, KeepUnlisted: m.keepsUnlisted(sum)})
	if object.Older(sum.Version, m.safe) || m.distrusted {
		m.safe = "" // while something is in quarantine, no version of this history is safe
	}
	m.resume, m.fences = sum.Version, nil
	m.refused, m.distrusted = false, false
	m.recent = sum.Recent
	m.doubt = nil
	m.pauses.listed()
	m.quarantine = m.quarantine.relisted(m, now, sum)
	m.repair.listed(now)
	if sum.Nameless > 0 || m.quarantine.uncounted > 0 {
		m.repair.want(&m.rules, now)
	}
	m.repairUnaskable(now)
	m.verify.postpone(&m.rules, now)
	if m.resyncAt.IsZero() && m.rules.Resync > 0 {
		m.resyncAt = now.Add(m.rules.Resync)
	}
	if !m.synced {
		m.synced = true
		m.emit(Synced{})
	}
}

// keepsUnlisted reports whether nothing can be inferred from what a list lacks, because it has items without a name. Before the
// first list there is nothing to keep, unless the sink tells that it held something before.
//
// A sink that does not tell what it holds loses the object of an item that has a name and cannot be used, until an ask brings it
// back. To keep everything for its sake would keep what was deleted, too.
func (m *Machine) keepsUnlisted(sum Sum) bool {
	return sum.Nameless > 0 && (m.synced || m.rules.SinkTells)
}

// listWentBack does not take a list that is older than it was asked to be, or parts of which were taken from the sink and may
// be of another history. Only the most recent state can say that the server's storage went back, as after the restoration of
// a backup: then that is what there is, and the sink is told all that it changes.
func (m *Machine) listWentBack(now time.Time, err error) {
	m.refused, m.distrusted = true, true
	m.emit(Refuse{err})
	m.emit(Problem{Class: VersionProblem, Err: err})
	m.emit(Relist{Version: m.resume, Reason: WentBack, Err: err})
	m.becomeListing(now)
}

// listFailed asks at once for the most recent state if the version asked for is gone or has not arrived, and tries again
// after a pause otherwise. A version that was refused is not asked for again.
func (m *Machine) listFailed(now time.Time, p *listing, failure Failure) {
	m.fail(now, failure.Err)
	m.refused = m.refused || p.again
	switch failure.Reason {
	case Expired, TooLarge:
		m.refused = true
		if p.version != "" {
			m.emit(Relist{Version: m.resume, Reason: failure.Reason, Err: failure.Err})
			m.becomeListing(now)
			return
		}
	case Failed:
		// The version may be what the server finds fault with.
		if failure.findsFault() {
			m.pauses.failures++
		}
		m.refused = m.refused || m.pauses.failures >= maxFailures
	default:
	}
	m.emit(Problem{Class: ListProblem, Err: failure.Err})
	m.becomeWaiting(now, toList, failure)
}

// listWanted lists the most recent state, decoded whole: whoever asks may know of a change that the server's watch cache has
// not seen, or fear that the copy is wrong. A list in progress is followed by another, for it may have begun before that
// change.
func (m *Machine) listWanted(now time.Time, ticket int) {
	m.wanted = max(m.wanted, ticket)
	switch p := m.phase.(type) {
	case *listing:
		p.again = true
		return
	case *streaming:
		p.again = true
		return
	}
	m.refused = true
	m.emit(HangUp{Asked, errAsked})
	m.emit(Relist{Version: m.resume, Reason: Asked, Err: errAsked})
	m.pauses.credit(&m.rules)
	m.sync(now)
}

// relist gives the resume point up, after a pause.
//
// A list that brought no later version than the one it was asked for, which the server does not watch from, would do so
// again.
func (m *Machine) relist(now time.Time, failure Failure) {
	if (failure.Reason == Expired || failure.Reason == Empty) && m.lists.sameVersion != "" && m.lists.sameVersion == m.resume {
		m.refused = true
	}
	m.emit(Relist{Version: m.resume, Reason: failure.Reason, Err: failure.Err})
	m.becomeWaiting(now, toList, failure)
}
