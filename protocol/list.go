package protocol

import (
	"errors"
	"fmt"
	"time"

	"github.com/relist-go/relist/object"
)

// lists holds what the machine has learned about lists and initial events of this server.
type lists struct {
	// paged: a list at "0" came in pages. A server with a watch cache ignores the limit of such a
	// list and answers in one piece, so this server has no watch cache. From now on every list has
	// a limit.
	paged bool

	// sameVersionListed is set if the last list was requested at a version and came back at the
	// same version. It holds that version.
	sameVersionListed string

	// listsOutrunByWindow counts lists in a row that took longer than the time for which the server
	// remembers events, so that no watch could begin at their version. Until initialEventsUntil the
	// machine asks for initial events instead of lists.
	listsOutrunByWindow int
	initialEventsUntil  time.Time

	// incompleteStreams counts streams in a row whose initial events did not come to an end. Until
	// listsUntil the machine asks for lists instead of initial events.
	incompleteStreams int
	listsUntil        time.Time
}

const defaultPageSize = 500

// sync asks for the whole state, by a list or by initial events. If there is no token for the
// request, sync waits for one, whatever the request is for.
func (m *Machine) sync(now time.Time) {
	kind := m.wholeState(now)
	if wait := m.backoff.until(m.rules, kind, now); wait > 0 {
		m.waitUntil(now.Add(wait), toList)
		return
	}
	m.cancelBeside()
	m.backoff.take(m.rules, kind, now)
	if kind == toWatch {
		m.becomeStreaming(now)
		return
	}
	m.becomeListing(now)
}

// wholeState returns the kind of the next request for the whole state: a list, or a watch with
// initial events.
func (m *Machine) wholeState(now time.Time) next {
	if (m.rules.Initial == Streaming || now.Before(m.lists.initialEventsUntil)) && !now.Before(m.lists.listsUntil) {
		return toWatch
	}
	return toList
}

// syncAfterWait asks for the whole state. If the machine is waiting, the wait continues first,
// because the server may have asked for it.
func (m *Machine) syncAfterWait(now time.Time) {
	if p, ok := m.phase.(*waiting); ok && now.Before(p.until) {
		m.waitUntil(p.until, toList)
		return
	}
	m.sync(now)
}

// becomeListing asks for a list that is not older than what the sink holds. It asks with that
// version, so that the server can answer from its watch cache. A first list takes any version that
// the server has cached.
//
// The request has no resourceVersionMatch, because a resourceVersion alone means "not older than".
// A resourceVersion with a limit means "exactly this version", if the server still has that
// version. Such a list may bring nothing new, see [Machine.relist]. Source:
// https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
func (m *Machine) becomeListing(now time.Time) {
	version := m.floor()
	if version == "" && m.rules.Initial == FromCache {
		version = "0"
	}
	p := &listing{version: version, asked: now, heard: now}
	reuse := m.rules.SinkTells && m.resume != "" && !m.distrusted && m.wantedTicket == m.servedTicket
	if m.mostRecent() {
		p.version, p.ticket = "", m.wantedTicket
	}
	m.phase = p
	m.emit(List{Version: p.version, Limit: m.limit(p.version), Reuse: reuse})
}

// mostRecent reports whether the next list must be of the most recent state. While a call of Relist
// waits for its list, every list is of the most recent state.
func (m *Machine) mostRecent() bool {
	return m.mostRecentDue() || m.quarantine.repair.due()
}

// mostRecentDue reports whether a list of the most recent state is due for a reason other than a
// repair.
func (m *Machine) mostRecentDue() bool { return m.mostRecentNext || m.wantedTicket > m.servedTicket }

// limit is the page size of a list at version.
//
// By default a list at a version has no limit, because older servers pass a list with a limit on to
// etcd, past their watch cache. A list at "0" has a limit for servers without a watch cache;
// servers with a watch cache ignore that limit. A list at "" has a limit, because older servers
// pass it on to etcd in any case.
func (m *Machine) limit(version string) int64 {
	switch {
	case m.rules.PageSize != 0:
		return max(m.rules.PageSize, 0)
	case m.lists.paged, object.IsAnyVersion(version):
		return defaultPageSize
	}
	return 0
}

// idleSince returns when the machine gives up an answer, if its last byte came at heard; zero for
// never.
func (m *Machine) idleSince(heard time.Time) time.Time {
	if m.rules.ResponseIdleTimeout == 0 {
		return time.Time{}
	}
	return heard.Add(m.rules.ResponseIdleTimeout)
}

// listCame gives the list to the sink.
func (m *Machine) listCame(now time.Time, p *listing, sum Sum) {
	if object.IsAnyVersion(sum.Version) {
		sum.Version = ""
	}
	m.wholeStateCame(now, p.version, sum)
}

// listTaken opens a watch at the version of a list that the sink has taken.
func (m *Machine) listTaken(now time.Time, p *listing, sum Sum) {
	m.servedTicket = max(m.servedTicket, p.ticket)
	m.lists.sameVersionListed = ""
	switch sum.Version {
	case "":
		m.mostRecentNext = true // this list may be of any time, so the next one must be the most recent
	case p.version:
		m.lists.sameVersionListed = sum.Version
	}
	m.lists.paged = m.lists.paged || p.version == "0" && sum.Pages > 1
	if p.anotherWanted {
		m.mostRecentNext = true
		m.backoff.credit(m.rules)
		m.sync(now)
		return
	}
	m.becomeWatching(now)
	if w, ok := m.phase.(*watching); ok {
		w.afterLongList = now.Sub(p.asked) >= longList
	}
}

// wholeStateCame takes the whole state, from a list or from initial events that are complete. It
// gives the state to the sink. If the state cannot be used, it asks again. asked is the
// resourceVersion of the request.
func (m *Machine) wholeStateCame(now time.Time, asked string, sum Sum) {
	conflict := sum.Conflict
	if _, err := advance(m.floor(), sum.Version); conflict == nil && err != nil {
		if asked != "" && errors.Is(err, errOlder) {
			conflict = err
		} else {
			m.emit(Problem{Class: VersionProblem, Err: err})
		}
	}
	if conflict != nil {
		m.stateRolledBack(now, conflict)
		return
	}
	if err := m.undecodable(sum); err != nil {
		failure := Failure{Reason: Malformed, Err: err}
		m.stateUnused(failure)
		m.fail(now, failure)
		m.emit(Problem{Class: ListProblem, Err: failure.Err})
		m.becomeWaiting(now, toList, failure)
		return
	}
	m.pending = pending{sum: &sum}
	m.emit(Replace{Version: sum.Version, KeepUnlisted: m.keepsUnlisted(sum)})
}

// stateUnused reports that the whole state has come and is not used. If it came as initial events,
// their stream is closed.
func (m *Machine) stateUnused(failure Failure) {
	if _, ok := m.phase.(*streaming); ok {
		m.emit(Cancel{failure.Reason, failure.Err})
		return
	}
	m.emit(ListUnused{failure.Err})
}

// errUndecodable is the failure of a first list if none of its objects can be decoded. If such a
// list counted as synced, the copy would be empty, and no user would see that the object type is
// wrong.
var errUndecodable = errors.New("none of the objects in the list can be decoded")

// undecodable returns an error if a first list has objects, and none of them can be decoded, unless
// the object type is known to be right.
func (m *Machine) undecodable(sum Sum) error {
	switch {
	case m.synced, sum.Items > 0, m.rules.TypeFits != nil && m.rules.TypeFits():
		return nil
	case len(sum.Bad) > 0:
		return fmt.Errorf("%w: %w", errUndecodable, sum.Bad[0].Err)
	case sum.Nameless > 0:
		return fmt.Errorf("%w: %w", errUndecodable, sum.Unnamed)
	}
	return nil
}

// replaced notes that the sink has the whole state. The list replaces everything that was known
// about single objects.
func (m *Machine) replaced(now time.Time, sum Sum) {
	m.resume = sum.Version
	m.history.listed(sum, m.distrusted)
	m.mostRecentNext, m.distrusted = false, false
	m.backoff.listed()
	m.health.outage.listed = true
	for _, key := range m.quarantine.listed(now, sum) {
		m.emit(Released{key})
	}
	m.verify.postpone(m.rules, now)
	if m.resyncAt.IsZero() && m.rules.Resync > 0 {
		m.resyncAt = now.Add(m.rules.Resync)
	}
	if !m.synced {
		m.synced = true
		m.emit(Synced{})
	}
	switch p := m.phase.(type) {
	case *listing:
		m.listTaken(now, p, sum)
	case *streaming:
		m.initialEventsTaken(now, p)
	}
}

// keepsUnlisted reports whether the sink keeps the objects that a list lacks. It keeps them if the
// list has items without a name, because an object that seems to be missing may be one of these
// items. Before the first list there is nothing to keep, unless the sink says what it held before.
//
// If an item has a name but cannot be used, and the sink does not say what it holds, the sink loses
// that object until a refetch brings it back. The alternative is worse: a sink that keeps every
// object that the list lacks also keeps deleted objects.
func (m *Machine) keepsUnlisted(sum Sum) bool {
	return sum.Nameless > 0 && (m.synced || m.rules.SinkTells)
}

// listFailed asks for the most recent state without a delay if the server no longer has the
// version, or does not have it yet. It does so even if the server sent Retry-After, because the
// next request is a different one. After any other failure, it tries again after a delay. It never
// asks again for a version that the server does not have.
func (m *Machine) listFailed(now time.Time, p *listing, failure Failure) {
	m.fail(now, failure)
	m.mostRecentNext = m.mostRecentNext || p.anotherWanted
	switch reasons[failure.Reason].list {
	case newest:
		if m.askNewest(now, p.version, failure) {
			return
		}
	case rejected:
		// The server may have refused the request because of its version.
		if failure.findsFault() {
			m.backoff.failures++
		}
		m.mostRecentNext = m.mostRecentNext || m.backoff.failures >= maxFailures
	default: // report
	}
	m.emit(Problem{Class: ListProblem, Err: failure.Err})
	m.becomeWaiting(now, toList, failure)
}

// askNewest asks for the most recent state, because the server lacks the version of a request for
// the whole state. It reports whether it has asked: if the most recent state was asked for, the
// same request follows after a delay.
func (m *Machine) askNewest(now time.Time, asked string, failure Failure) bool {
	m.mostRecentNext = true
	if asked == "" {
		return false
	}
	m.emit(Relist{Version: m.resume, Reason: failure.Reason, Err: failure.Err})
	m.sync(now)
	return true
}

var errRequested = errors.New("a list was asked for")

// listWanted lists the most recent state, and reuses no object of the sink: the caller may know of
// a change that the server's watch cache has not seen, or may suspect that the copy is wrong. If a
// list is in progress, another one follows, because the first may have begun before that change.
func (m *Machine) listWanted(now time.Time, ticket int) {
	m.wantedTicket = max(m.wantedTicket, ticket)
	switch p := m.phase.(type) {
	case *listing:
		p.anotherWanted = true
		return
	case *streaming:
		p.anotherWanted = true
		return
	}
	m.mostRecentNext = true
	m.emit(Cancel{RelistRequested, errRequested})
	m.emit(Relist{Version: m.resume, Reason: RelistRequested, Err: errRequested})
	m.backoff.credit(m.rules)
	m.sync(now)
}

// relist gives the resume version up, and lists after a delay. The delay is that of a server that
// answers, even if the watch reached no server, because a list costs the server something.
//
// A list may come back at exactly the version that it was asked at. If the server cannot watch from
// there, the same list would bring the same version again, so the next list asks for the most
// recent state.
//
// If a watch is refused with 410 after an outage, so are the watches of other clients, and all of
// them list. So the delay of this list is random, which spreads the lists. If the list fails, it is
// repeated after an ordinary backoff.
func (m *Machine) relist(now time.Time, failure Failure) {
	if (failure.Reason == Expired || failure.Reason == EmptyWatches) && m.lists.sameVersionListed != "" && m.lists.sameVersionListed == m.resume {
		m.mostRecentNext = true
	}
	m.emit(Relist{Version: m.resume, Reason: failure.Reason, Err: failure.Err})
	if failure.Reason == Expired && m.backoff.afterOutage {
		m.backOff(now, failure.retryAfter()+m.rules.jitter(m.rules.scaled(spread)), toList, failure)
		return
	}
	m.backOff(now, m.backoff.delay(m.rules, toList, Failure{Reason: Unversioned, RetryAfter: failure.RetryAfter}), toList, failure)
}
