package sinks

import (
	"fmt"
	"slices"
	"sync"
)

// tally counts what has happened in all worlds of a test.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *tally) count(what string) { c.add(what, 1) }

func (c *tally) add(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	c.counts[what] += n
}

func (c *tally) of(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[what]
}

// compare compares a table with what the server had at the version of the table. It returns what
// differs, and whether the table is of the server's history since the last restored backup. w.mu is
// held.
func (w *world) compare(db database, c contents, total *tally) (differs string, current bool) {
	if !c.opened {
		if len(c.rows) > 0 {
			return fmt.Sprintf("%d rows without a state", len(c.rows)), false
		}
		return "", true
	}
	point := c.state.Point
	if point.Version == "" {
		for key, row := range c.rows {
			if !w.had(db, key, row) {
				return fmt.Sprintf("in a first list: the server has never had the row of %s, at version %s", key, row.version), true
			}
		}
		return "", true
	}
	version := number(w.t, point.Version)
	doubts := map[string]bool{}
	for _, key := range point.Unsure {
		doubts[key] = true
	}
	newest := len(w.histories) - 1
	for i := newest; i >= 0; i-- {
		h := w.histories[i]
		if version < h.base {
			continue
		}
		want := h.at(version)
		if diff := difference(db, c.rows, want, doubts); diff != "" {
			if differs == "" {
				differs = diff
			}
			continue
		}
		w.crossCheck(point.Version, want, i == newest, total)
		return w.explain(h, version, point.Unsure, want, total), i == newest || version < w.histories[newest].base
	}
	return fmt.Sprintf("at version %s, with unsure keys %v: %s", point.Version, point.Unsure, differs), false
}

func difference(db database, rows, want map[string]object, doubts map[string]bool) string {
	for key, row := range rows {
		if doubts[key] {
			continue
		}
		w, ok := want[key]
		switch {
		case !ok:
			return fmt.Sprintf("there is a row of %s, at version %s, and the server did not have it", key, row.version)
		case row.uid != w.uid || row.version != w.version:
			return fmt.Sprintf("the row of %s is %s at version %s, and the server had %s at %s", key, row.uid, row.version, w.uid, w.version)
		case !db.same(row, w):
			return fmt.Sprintf("the row of %s is\n%s\nand the server had\n%s", key, row.json, w.json)
		}
	}
	for key, w := range want {
		if _, ok := rows[key]; !ok && !doubts[key] {
			return fmt.Sprintf("there is no row of %s, and the server had it at version %s", key, w.version)
		}
	}
	return ""
}

// explain says which doubts have no reason. A program doubts what it has refused; and what it has
// asked for, until it has caught up with the answer.
func (w *world) explain(h *history, version uint64, doubts []string, want map[string]object, total *tally) string {
	var around map[string]bool
	for _, key := range doubts {
		if want[key].refused {
			total.count("doubts: refused")
			continue
		}
		if around == nil {
			around = h.refusedAround(version)
		}
		if !around[key] {
			return fmt.Sprintf("at version %d: %s is unsure, and has not been refused", version, key)
		}
		total.count("doubts: asked about")
	}
	for key, o := range want {
		if o.refused && !slices.Contains(doubts, key) {
			return fmt.Sprintf("at version %d: %s cannot be stored, and is not unsure", version, key)
		}
	}
	return ""
}

// crossCheck compares what this test has noted with what the server says it had at the version, if
// the server still knows that.
func (w *world) crossCheck(version string, want map[string]object, current bool, total *tally) {
	if !current {
		total.count("of a lost history")
		return
	}
	has, ok := exactly(w.t, w.server, version)
	if !ok {
		total.count("compacted away")
		return
	}
	total.count("asked the server")
	for key := range want {
		if has[key].uid != want[key].uid || has[key].version != want[key].version {
			w.t.Errorf("the test is wrong: at version %s, it has %v for %s, and the server %v", version, want[key].version, key, has[key].version)
		}
		delete(has, key)
	}
	for key := range has {
		w.t.Errorf("the test is wrong: at version %s, it has nothing for %s", version, key)
	}
}

// had reports whether the server had an object in any of its histories.
func (w *world) had(db database, key string, row object) bool {
	for _, h := range w.histories {
		if o, ok := h.start[key]; ok && o.uid == row.uid && o.version == row.version && db.same(row, o) {
			return true
		}
		for _, e := range h.log {
			if e.key == key && !e.gone && e.object.uid == row.uid && e.object.version == row.version && db.same(row, e.object) {
				return true
			}
		}
	}
	return false
}

// checkHistory returns what is wrong with the states and the gaps. lists are the versions before
// and after each list that a program said it has committed. again says whether a state can be there
// twice.
func (c contents) checkHistory(lists [][2]string, again func(key, version string) bool) string {
	open := map[string]interval{}
	seen := map[[3]string]bool{}
	for i, s := range c.states {
		if i > 0 && c.states[i-1].key == s.key {
			before := c.states[i-1]
			if before.to == "" || before.to > s.from {
				return fmt.Sprintf("the states of %s overlap: %+v and %+v", s.key, before, s)
			}
		}
		if s.to != "" && s.to < s.from {
			return fmt.Sprintf("a state ends before it begins: %+v", s)
		}
		if s.to == "" {
			open[s.key] = s
		}
		id := [3]string{s.key, s.uid, s.version}
		if seen[id] && !again(s.key, s.version) {
			return fmt.Sprintf("a state is there twice: %+v, in %+v", s, c.statesOf(s.key))
		}
		seen[id] = true
		// The gap of the very first list is not written down before that list ends.
		if first := c.state.Point.Version == "" && len(c.gaps) == 0; s.ended == "put" && s.end == "" && !first && !slices.ContainsFunc(c.gaps, func(g gap) bool {
			return g.kind == "list" && g.from <= s.to && (g.to == "" || s.to <= g.to)
		}) {
			return fmt.Sprintf("a list has ended a state, and no gap says so: %+v; gaps: %+v", s, c.gaps)
		}
	}
	for key, row := range c.rows {
		s, ok := open[key]
		if !ok || s.uid != row.uid || s.version != row.version {
			return fmt.Sprintf("the row of %s is at version %s, and the present state of the history is %+v", key, row.version, s)
		}
		delete(open, key)
	}
	for key, s := range open {
		return fmt.Sprintf("the history has a present state of %s, and there is no row: %+v", key, s)
	}
	for _, l := range lists {
		if !slices.ContainsFunc(c.gaps, func(g gap) bool {
			return g.kind == "list" && g.toVersion == l[1] && (l[0] == "" || g.fromVersion == l[0])
		}) {
			return fmt.Sprintf("a list has led from version %q to %q, and no gap says so: %+v", l[0], l[1], c.gaps)
		}
	}
	return ""
}

func (c contents) statesOf(key string) (states []interval) {
	for _, s := range c.states {
		if s.key == key {
			states = append(states, s)
		}
	}
	return states
}

// again reports whether a history can have a state twice. A restored backup brings states again.
// And a program that was refused a state asks for the next one, and may have that before the
// version of the table: then a program that goes on from that version first sees what was before.
// w.mu is held.
func (w *world) again(key, version string) bool {
	if w.restores > 0 {
		return true
	}
	before := object{}
	for _, e := range w.now().log {
		switch {
		case e.key != key:
		case e.object.version == version:
			return before.refused
		case !e.gone:
			before = e.object
		}
	}
	return false
}
