package protocol

import "github.com/relist-go/relist/object"

// The server of the explorer: a log of writes over two keys, which a restored backup may take back.
// That it compacts old writes away is seen in nothing but a 410, so a server may answer so whenever
// something has been written since the version that it is asked for.

// version is a resourceVersion, or a number that stands for a UID. Zero stands for none.
type version int8

// anyVersion is "0" in a request.
const anyVersion version = -1

// keys is how many keys the server has. They are alike: a state and its mirror image are one state.
const keys = 2

// cell is one object: zero if there is none. What an object holds beside these does not matter: two
// objects of one name, UID and version count as equal. Nobody could tell them apart without reading
// them.
type cell struct{ uid, at version }

// content is all objects: those that the selector selects, and those that it does not.
type content struct{ selected, hidden [keys]cell }

// write is one entry of the log. Its version follows from its place.
type write struct {
	kind writeKind
	key  int8
	uid  version
}

type writeKind uint8

const (
	create    writeKind = iota + 1
	change              //
	remove              // the object is deleted
	leave               // the object is changed so that the selector no longer selects it
	enter               // and so that it does again
	elsewhere           // something else is written: a version that no event of the watch has

	// createHidden makes an object that the client may not see, and grant lets the client see an
	// object from then on, which the watch says by an ADDED with the object's version, older than
	// the grant. OpenShift does so for projects: https://github.com/openshift/api/issues/2064.
	createHidden
	grant
	writeKinds
)

// logSize is more than any search needs.
const logSize = 32

// server is what the server has.
type server struct {
	base    version // of start, which the first entry of the log follows
	start   content
	log     [logSize]write
	entries version

	uids version // that were given out
	down Reason  // the next request fails with it; zero if the server answers
}

func (s *server) head() version { return s.base + s.entries }

func (s *server) entry(v version) write { return s.log[v-s.base-1] }

// at returns what the server had at a version.
func (s *server) at(v version) content {
	c := s.start
	for i := s.base + 1; i <= v; i++ {
		c.add(i, s.entry(i))
	}
	return c
}

func (c *content) add(v version, w write) {
	k := w.key
	switch w.kind {
	case create:
		c.selected[k] = cell{w.uid, v}
	case change:
		c.selected[k].at = v
	case remove:
		c.selected[k] = cell{}
	case leave:
		c.selected[k], c.hidden[k] = cell{}, cell{c.selected[k].uid, v}
	case enter:
		c.selected[k], c.hidden[k] = cell{c.hidden[k].uid, v}, cell{}
	case createHidden:
		c.hidden[k] = cell{w.uid, v}
	case grant:
		c.selected[k], c.hidden[k] = c.hidden[k], cell{}
	default: // elsewhere
	}
}

// can reports whether a write is possible now.
func (s *server) can(kind writeKind, k int8) bool {
	now := s.at(s.head())
	switch kind {
	case create, createHidden:
		return now.selected[k] == cell{} && now.hidden[k] == cell{}
	case change, remove, leave:
		return now.selected[k] != cell{}
	case enter, grant:
		return now.hidden[k] != cell{}
	default:
		return k == 0 // elsewhere: there is only one
	}
}

func (s *server) write(kind writeKind, k int8) {
	w := write{kind: kind, key: k}
	if kind == create || kind == createHidden {
		s.uids++
		w.uid = s.uids
	}
	s.log[s.entries] = w
	s.entries++
}

// restore takes the log back to a version.
func (s *server) restore(v version) {
	s.entries = v - s.base
	clear(s.log[s.entries:])
}

// event returns the first event of a watch after a version, as it comes over the wire, and its
// place in the log; zero if there is none yet.
func (s *server) event(after version) (typ object.EventType, k int8, c cell, place version) {
	for v := max(after, s.base) + 1; v <= s.head(); v++ {
		w := s.entry(v)
		before := s.at(v - 1).selected[w.key]
		now := s.at(v).selected[w.key]
		switch w.kind {
		case create, enter, grant:
			return object.Added, w.key, now, v
		case change:
			return object.Modified, w.key, now, v
		case remove, leave:
			return object.Deleted, w.key, cell{before.uid, v}, v
		default: // of nothing that the watch is about
		}
	}
	return 0, 0, cell{}, 0
}

// quiet returns the version up to which a watch that has come to a version has missed nothing.
func (s *server) quiet(after version) version {
	if _, _, _, place := s.event(after); place != 0 {
		return place - 1
	}
	return max(after, s.head())
}

// collapse makes everything up to a version part of the start: nobody refers to what came before.
func (s *server) collapse(to version) {
	if to <= s.base {
		return
	}
	s.start = s.at(to)
	n := to - s.base
	copy(s.log[:], s.log[n:])
	clear(s.log[logSize-n:])
	s.base, s.entries = to, s.entries-n
}
