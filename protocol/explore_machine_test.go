package protocol

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/relist-go/relist/object"
)

// machine encodes what a machine remembers.
func (e *encoder) machine(m *Machine) {
	e.phase(m.phase)
	e.versionText(m.resume)
	e.bool(m.mostRecentNext)
	e.bool(m.distrusted)
	e.bool(m.synced)
	e.keys(func(k int8) { e.versionText(m.quarantine.versions[keyTexts[k]]) })
	e.recent(m.history.recent)
	e.bool(m.backoff.reopenedAtOnce)
	e.byte(byte(m.backoff.failures))
	e.byte(byte(m.backoff.emptyWatches))
	e.bool(m.lists.paged)
	e.versionText(m.lists.sameVersionListed)
	e.byte(byte(m.lists.listsOutrunByWindow))
	e.armed(m.lists.initialEventsUntil)
	e.byte(byte(m.lists.incompleteStreams))
	e.armed(m.lists.listsUntil)
	e.armed(m.quarantine.soonest)
	e.byte(byte(m.quarantine.beyondLimit))
	e.keys(func(k int8) { e.entry(m.quarantine.entries[keyTexts[k]]) })
	e.bool(m.refetches.open != nil)
	if a := m.refetches.open; a != nil {
		e.key(keyOf(a.key))
		e.versionText(a.at)
		e.bool(a.eventSince)
		e.bool(a.otherServer)
	}
	e.armed(m.quarantine.noRefetchUntil)
	e.unverified(m.history.unverified)
	e.armed(m.quarantine.repair.at)
	e.bool(m.quarantine.repair.unnamed)
	e.armed(m.verify.next)
	e.bool(m.verify.asked)
	e.bool(m.verify.arrived)
	e.versionText(m.verify.version)
	e.keys(func(k int8) { e.bool(m.verify.keysWithEvents[keyTexts[k]]) })
	e.armed(m.resyncAt)
	e.bool(m.wantedTicket != m.servedTicket)
	e.byte(byte(m.wantedTicket - m.servedTicket))
}

func (e *encoder) phase(p phase) {
	switch p := p.(type) {
	case *waiting:
		e.byte(1)
		e.byte(byte(p.then))
	case *listing:
		e.byte(2)
		e.versionText(p.version)
		e.bool(p.anotherWanted)
		e.byte(byte(e.w.m.wantedTicket - p.ticket))
	case *streaming:
		e.byte(3)
		e.versionText(p.version)
		e.bool(p.anotherWanted)
		e.byte(byte(e.w.m.wantedTicket - p.ticket))
		e.bool(p.open)
		e.armed(p.otherEventAt)
	case *watching:
		e.byte(4)
		e.versionText(p.version)
		e.byte(byte(len(p.repeats.left)))
		for _, k := range p.repeats.left {
			e.known(k)
		}
		e.bool(p.afterLongList)
		e.bool(p.open)
		e.bool(p.progress)
		e.bool(p.repeats.begun)
		e.armed(p.bookmark)
		e.byte(byte(p.timeout / 1e9 % 251))
	}
}

func (e *encoder) meta(meta object.Meta) {
	e.key(keyOf(meta.Key))
	e.uid(uidOf(meta.UID))
	e.versionText(meta.ResourceVersion)
}

func (e *encoder) known(k known) {
	e.meta(k.Meta)
	e.bool(k.gone)
}

func (e *encoder) recent(r recent) {
	for _, k := range r.states {
		e.known(k)
	}
	if e.byte(byte(r.events)); r.events > 0 {
		e.versionText(r.since)
	}
}

func (e *encoder) entry(q *entry) {
	e.bool(q != nil)
	if q == nil {
		return
	}
	e.meta(q.meta)
	e.byte(byte(q.why))
	e.versionText(q.minVersion)
	e.armed(q.next)
	e.byte(byte(q.answersUnused))
}

func (e *encoder) unverified(u *unverified) {
	e.bool(u != nil)
	if u == nil {
		return
	}
	e.versionText(u.resume)
	e.byte(byte(len(u.questions)))
	for _, q := range u.questions {
		e.known(q.known)
		e.versionText(q.at)
	}
	e.byte(byte(u.suspicion))
	e.armed(u.at)
	e.bool(u.behind)
}

// A field that the encoding leaves out would make two states one that behave differently, and hide
// what follows from one of them. If this fails, think of the new field in encoder and in forget,
// and then say here that it was.
func TestEncodingKnowsEveryField(t *testing.T) {
	const want = `
Machine: rules phase position out pending lists backoff idle health resyncAt wantedTicket servedTicket history quarantine verify refetches
position: resume mostRecentNext distrusted synced
history: rules recent unverified nextListCheck
recent: states events since
known: Meta gone
Meta: Key UID ResourceVersion
backoff: answeredStep unreachableStep afterOutage reopenedAtOnce failures emptyWatches watchesFullAt listsFullAt
idleLimits: bookmarkGap learnedLimit
health: failing failingBefore opened outage last
lists: paged sameVersionListed listsOutrunByWindow initialEventsUntil incompleteStreams listsUntil
quarantine: rules entries soonest beyondLimit changes versions repair noRefetchUntil
entry: meta why err refetchErr minVersion since next step answersUnused
refetches: open notBefore
refetch: key at heard eventSince otherServer
unverified: resume questions suspicion at failures behind
question: known at
repair: rules at step last unnamed
verification: next asked arrived heard version keysWithEvents
waiting: until then
listing: version anotherWanted ticket asked heard
streaming: version anotherWanted ticket asked heard deadline timeout open otherEventAt
watching: version repeats asked heard deadline timeout afterLongList open progress bookmark idleLimit
repetition: left begun
`
	var got strings.Builder
	got.WriteString("\n")
	all := []any{
		Machine{},
		position{},
		history{},
		recent{},
		known{},
		object.Meta{},
		backoff{},
		idleLimits{},
		health{},
		lists{},
		quarantine{},
		entry{},
		refetches{},
		refetch{},
		unverified{},
		question{},
		repair{},
		verification{},
		waiting{},
		listing{},
		streaming{},
		watching{},
		repetition{},
	}
	for _, v := range all {
		typ := reflect.TypeOf(v)
		fmt.Fprintf(&got, "%s:", typ.Name())
		for i := range typ.NumField() {
			fmt.Fprintf(&got, " %s", typ.Field(i).Name)
		}
		got.WriteString("\n")
	}
	if got.String() != want {
		t.Errorf("the machine has other fields than the encoding of its states was made for:%s", got.String())
	}
}
