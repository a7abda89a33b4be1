package protocol

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/relist-go/relist/object"
)

// Saved is a place in the history of the server at which a copy can be saved, so that another machine goes on from there. The copy
// has what the sink was given until then.
type Saved struct {
	// Version is the resume point: for every key that is not among Doubts, except for MoreDoubts others, the copy equals the server at
	// this version. It is empty if there is no such place.
	Version string

	// Doubts are the keys whose objects may be older or newer in the copy than at Version, or may be missing there.
	Doubts []string

	// MoreDoubts is how many more objects there are like those of Doubts, for which the quarantine has no room. One object may count
	// several times.
	MoreDoubts int

	// Newest are the newest states that the server had sent, the newest first. Those that are newer than Since are all events that it
	// had sent after Since. Since is empty if there are none.
	Newest []Newest
	Since  string
}

// Newest is one of the newest states that a server has sent.
type Newest struct {
	object.Meta
	Gone bool // it was deleted
}

// Saved returns the place at which the sink can be saved now. There is no such place
//
//   - before the first list;
//   - while another server may have answered: the sink may have the objects of two histories;
//   - while a list of the most recent state is due, because something had no readable name, or because somebody suspects the copy.
func (m *Machine) Saved() Saved {
	if object.Any(m.resume) || !m.synced || m.unverified != nil || m.distrusted || m.suspected() || m.repair.unnamed {
		return Saved{}
	}
	s := Saved{Version: m.resume, MoreDoubts: m.quarantine.beyondLimit}
	if len(m.quarantine.entries)+len(m.fences) > 0 {
		doubts := map[string]bool{}
		for key := range m.quarantine.entries { // the order does not matter: sorted below
			doubts[key] = true
		}
		for key := range m.fences { // the same
			doubts[key] = true
		}
		s.Doubts = slices.Sorted(maps.Keys(doubts))
	}
	for _, k := range m.recent.states {
		if k.Key != "" {
			s.Newest = append(s.Newest, Newest{k.Meta, k.gone})
		}
	}
	if m.recent.events > 0 {
		s.Since = m.recent.since
	}
	return s
}

// NoteHeld looks at one object of the copy. If a copy was saved without Newest, NoteHeld finds its newest objects in this way. If
// the object is newer than the copy, its key becomes a doubt. If its version cannot be compared, NoteHeld ignores the object.
func (s *Saved) NoteHeld(meta object.Meta) {
	switch {
	case !object.Ordered(meta.ResourceVersion):
		return
	case object.Older(s.Version, meta.ResourceVersion):
		s.Doubts = append(s.Doubts, meta.Key)
		return
	}
	at, _ := slices.BinarySearchFunc(s.Newest, meta, func(n Newest, meta object.Meta) int {
		if object.Older(meta.ResourceVersion, n.ResourceVersion) {
			return -1
		}
		return 1
	})
	if most := len(recent{}.states); at < most {
		s.Newest = slices.Insert(s.Newest, at, Newest{Meta: meta})
		s.Newest = s.Newest[:min(len(s.Newest), most)]
	}
}

var errSaved = errors.New("the saved copy may lack the latest state of it")

// resumeSaved goes on from a saved copy, which the sink holds: the next request is a watch from its version. Another server may
// answer, so it is unverified as after an outage, and each doubt is asked for by itself. If there are more doubts than have names, a
// list follows.
func (m *Machine) resumeSaved(now time.Time, s Saved) {
	if m.synced || m.resume != "" || object.Any(s.Version) {
		return // a machine that has begun goes on; without a version, it begins with a list
	}
	m.moveResume(s.Version)
	m.recent.since = s.Since
	for i, n := range s.Newest[:min(len(s.Newest), len(m.recent.states))] {
		m.recent.states[i] = known{n.Meta, n.Gone}
		if object.Older(s.Since, n.ResourceVersion) && !object.Older(s.Version, n.ResourceVersion) {
			m.recent.events++
		}
	}
	m.suspect()
	for _, key := range s.Doubts {
		m.toQuarantine(now, Item{Meta: object.Meta{Key: key}}, errSaved, outOfOrder)
	}
	if m.quarantine.beyondLimit += s.MoreDoubts; s.MoreDoubts > 0 {
		m.repair.want(&m.rules, now)
	}
	m.waitUntil(time.Time{}, toWatch)
}

// syncSaved says that a saved copy counts as the first list, if the server has accepted a watch from its version, and is verified. If
// a question fails, the copy does not wait for the answer to the next, because the watch is open. A step that emits these effects has
// no other call of the sink, so a refusal by the sink cannot drop them.
func (m *Machine) syncSaved(now time.Time) {
	p, ok := m.phase.(*watching)
	if m.synced || !ok || !p.open || m.unverified != nil && m.unverified.failures == 0 {
		return
	}
	m.synced = true
	m.verify.postpone(&m.rules, now)
	if m.rules.Resync > 0 {
		m.resyncAt = now.Add(m.rules.Resync)
	}
	m.emit(Resumed{})
	m.emit(Synced{})
}
