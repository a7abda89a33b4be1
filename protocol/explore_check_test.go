package protocol

import "github.com/relist-go/relist/object"

// memory is what the explorer remembers so that it can tell what must hold in a state. The machine
// does not see it.
type memory struct {
	// asOf is the lowest version as of which the sink can have what it has of a key, given what it
	// had before. A key that has no such version was taken back, or holds what the server never
	// had. It is zero for a key that is not held until whole is set: until then the sink may lack
	// what could not be used when it was first listed.
	asOf  [keys]version
	whole bool

	// mixed: a backup was restored, and the sink may still hold what is of the history before.
	mixed bool

	// outdated is the resume version from before, of which a machine that has not seen the
	// restoration cannot know that it means nothing any more.
	outdated version

	// relisted: since then the sink was given a list, so what it still holds of the old history is
	// known to be doubtful.
	relisted bool

	// newest is the newest thing that the server has sent of the history before, and reached the
	// resume version then. While unanswered is set, the server has to be asked for newest at that
	// version: nobody can tell a restored backup from an ordinary server but by that.
	newest     thing
	reached    version
	unanswered bool
}

// thing is a state that the server has sent.
type thing struct {
	known bool
	key   int8
	cell
	gone bool
}

// sent: the server has sent an event of a key.
func (w *world) sent(t thing) {
	switch {
	case w.mixed:
	case t.at > max(versionOf(w.m.resume), w.newest.at):
		w.newest = t
	case t.key == w.newest.key && t != w.newest:
		w.newest = thing{} // an event out of order
	}
}

// replaced: the sink has taken a list. If kept is set, it still holds something that is not of the
// list.
func (w *world) replaced(s subject, kept bool) {
	restored := w.mixed
	if restored {
		w.mixed, w.relisted = kept, true
		w.asOf = [keys]version{}
	}
	if w.mixed {
		return
	}
	w.whole = w.whole && !restored || s.list.whole()
	w.relisted, w.unanswered, w.reached = false, false, 0
	w.newest = thing{}
	for k, c := range s.list.objects {
		if c.at > w.newest.at {
			w.newest = thing{true, int8(k), c, false}
		}
	}
}

// wasRestored: from now on the server has another history.
func (w *world) wasRestored() {
	if !w.m.synced {
		return
	}
	w.mixed, w.relisted = true, false
	// While the server is unverified, what is asked for is from before. Another restoration is not
	// promised to be seen.
	w.unanswered = w.m.history.unverified == nil
	w.reached = versionOf(w.m.resume)
}

// shows reports whether the server shows that it has another history: it has not come to the resume
// version, or the newest state that it has sent is not what it has there.
func (w *world) shows() bool {
	switch {
	case w.srv.head() < w.reached:
		return true
	case !w.newest.known, w.s.deaf: // a server that is deaf cannot be asked for one key
		return false
	}
	has := w.srv.at(w.reached).selected[w.newest.key]
	return w.newest.gone && has != cell{} || !w.newest.gone && has != w.newest.cell
}

// mustConverge reports whether a server that behaves must lead to a sink that equals it. After a
// restored backup that can be asked for only if there is something to see. Otherwise nothing but a
// verification can tell.
func (w *world) mustConverge() bool {
	return w.s.rules.Verify > 0 || !w.mixed || w.relisted || w.unanswered && w.shows()
}

// equal reports whether the sink has what the server has.
func (w *world) equal() bool { return w.sink == w.srv.at(w.srv.head()).selected }

// inspect checks what must hold in every state, and between a state and the next.
func (w *world) inspect(before *world) {
	if object.Older(w.m.resume, before.m.resume) && !before.mixed && w.refuse == 0 {
		w.violate("the resume version rolls back from %s to %s, and neither the server nor the sink did", before.m.resume, w.m.resume)
	}
	if w.mixed {
		w.outdated = versionOf(w.m.resume)
	}
	if w.mixed || !w.m.synced {
		return
	}
	resume := versionOf(w.m.resume)
	if resume != w.outdated || before.m.distrusted {
		w.outdated = 0
	}
	checkPoint := w.m.savable() && w.m.quarantine.beyondLimit == 0 && w.outdated == 0 && w.s.budget[omissions] == w.left[omissions]
	for k := range int8(keys) {
		if w.asOf[k] == 0 && w.sink[k] == (cell{}) && !w.whole {
			continue
		}
		if w.asOf[k] = w.since(k, w.asOf[k]); w.asOf[k] == 0 {
			w.violate("the sink has %s of %s, which the server did not have then", w.sink[k], keyTexts[k])
			return
		}
		if checkPoint && !w.inDoubt(k) && w.since(k, max(resume, w.asOf[k])) == 0 {
			w.violate("the sink has %s of %s, which is older than the point %s, where it can be saved", w.sink[k], keyTexts[k], w.m.resume)
			return
		}
	}
}

// inDoubt reports whether a key is among the unsure keys of the machine's point.
func (w *world) inDoubt(k int8) bool {
	key := keyTexts[k]
	_, fenced := w.m.quarantine.versions[key]
	return fenced || w.m.quarantine.entries[key] != nil
}

// since returns the first version, from one on, at which the server had of a key what the sink has;
// zero if there is none.
func (w *world) since(k int8, from version) version {
	from = max(from, w.srv.base)
	c := w.srv.at(from)
	for v := from; ; v++ {
		if c.selected[k] == w.sink[k] {
			return v
		}
		if v >= w.srv.head() {
			return 0
		}
		c.add(v+1, w.srv.entry(v+1))
	}
}

func (c cell) String() string {
	if c == (cell{}) {
		return "nothing"
	}
	return "version " + c.at.String()
}
