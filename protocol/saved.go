package protocol

import (
	"slices"
	"time"

	"github.com/relist-go/relist/object"
)

// Point is a place in the history of a server at which a copy was saved, and from which another
// machine can resume.
//
// A copy at a point keeps a promise: the copy equals the server at Version, except for the keys in
// Unsure and for at most MoreUnsure objects whose keys are not known. A program that saves a copy
// on its own must keep this promise, too. Version is the version of a list or of a bookmark, or of
// an event up to which everything was applied. Do not use the highest version of an object in the
// copy instead.
type Point struct {
	// Version is a resourceVersion. If it is empty, there is no such place.
	Version string `json:"version"`

	// Unsure are the keys whose objects may be older or newer in the copy than at Version, or may
	// be missing there: see [Quarantined]. The machine asks for each of them. There are about 1,000
	// at most.
	Unsure []string `json:"unsure,omitempty"`

	// MoreUnsure counts further objects of this kind, for which the quarantine has no room. One
	// object may count several times. Their keys are not named, so the machine lists, less and less
	// often: in the end, every 10 to 20 minutes.
	MoreUnsure int `json:"moreUnsure,omitempty"`

	// Newest are the newest states that the server had sent, the highest version first. A deletion
	// counts, too. There are at most four. They show whether the server was restored from a backup
	// since. If there are none, every object that the sink holds is looked at, see
	// [Point.NoteHeld].
	Newest []Newest `json:"newest,omitempty"`

	// Since is the version at which the next watch begins; if empty, it begins at Version. From
	// Since to Version, the server had sent exactly the states of Newest that are newer than Since,
	// and it has to send them again.
	Since string `json:"since,omitempty"`

	// Current is when the copy was last known to be up to date, and zero if nobody knows. The
	// machine does not use it: it is for reflector.Status.Staleness.
	Current time.Time `json:"current,omitzero"`
}

// Newest is one of the newest states of a [Point].
type Newest struct {
	Meta object.Meta `json:"meta"`
	Gone bool        `json:"gone,omitempty"` // it was deleted
}

// Point returns the place at which the sink can be saved now. There is no such place
//
//   - before the first list;
//   - while another server may have answered: the sink may have the objects of two histories;
//   - while a list of the most recent state is due, because something had no readable name, or because the program called Relist.
func (m *Machine) Point() Point {
	if !m.savable() {
		return Point{}
	}
	p := Point{Version: m.resume}
	m.quarantine.saved(&p)
	m.history.saved(&p)
	return p
}

func (m *Machine) savable() bool {
	return !object.IsAnyVersion(m.resume) && m.synced && m.history.verified() && !m.distrusted && !m.mostRecentDue() && !m.quarantine.repair.unnamed
}

// NoteHeld looks at one object of the copy. If a copy was saved without Newest, NoteHeld finds its
// newest objects in this way. If the object is newer than the copy, its key becomes an unsure key.
// If its version cannot be compared, NoteHeld ignores the object.
func (p *Point) NoteHeld(meta object.Meta) {
	switch {
	case !object.IsComparable(meta.ResourceVersion):
		return
	case object.Older(p.Version, meta.ResourceVersion):
		p.Unsure = append(p.Unsure, meta.Key)
		return
	}
	at, _ := slices.BinarySearchFunc(p.Newest, meta, func(n Newest, meta object.Meta) int {
		if object.Older(meta.ResourceVersion, n.Meta.ResourceVersion) {
			return -1
		}
		return 1
	})
	if most := len(recent{}.states); at < most {
		p.Newest = slices.Insert(p.Newest, at, Newest{Meta: meta})
		p.Newest = p.Newest[:min(len(p.Newest), most)]
	}
}

// resumeSaved continues from a saved copy, which the sink holds: the next request is a watch from
// the copy's version. The server is unverified, because it may be another one than before. The
// machine refetches each unsure key. If the copy counts more unsure keys than it names
// ([Point.MoreUnsure]), a list follows.
func (m *Machine) resumeSaved(now time.Time, p Point) {
	if m.synced || m.resume != "" || object.IsAnyVersion(p.Version) {
		return // the machine has started already; or the copy has no version, so a list comes first
	}
	m.moveResume(p.Version)
	m.history.resumeSaved(p)
	m.quarantine.resumeSaved(now, p)
	m.waitUntil(time.Time{}, toWatch)
}

// syncSaved says that a saved copy counts as the first list, if the server has accepted a watch
// from its version, and is verified or cannot be asked. A step that emits these effects has no
// other call of the sink, so a refusal by the sink cannot drop them.
func (m *Machine) syncSaved(now time.Time) {
	p, ok := m.phase.(*watching)
	if m.synced || !ok || !p.open || m.history.awaitsAnswer() {
		return
	}
	m.synced = true
	m.verify.postpone(m.rules, now)
	if m.rules.Resync > 0 {
		m.resyncAt = now.Add(m.rules.Resync)
	}
	m.emit(Resumed)
	m.emit(Synced{})
}
