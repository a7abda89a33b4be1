package protocol

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// A clone goes its own way: what the machine it was made of is told changes nothing for it.
func TestCloneGoesItsOwnWay(t *testing.T) {
	for _, sec := range slices.Concat(phaseSections, besideSections) {
		for _, e := range sec.examples {
			s := newStage()
			sec.start(s)
			if e.before != nil {
				e.before(s)
			}
			clone := &stage{m: s.m.clone(), at: s.at}
			was := &stage{m: s.m.clone(), at: s.at}
			e.input(s)
			want := describeNext(was, s, s.effects) + " | " + describeEffects(s.effects)
			e.input(clone)
			if got := describeNext(was, clone, clone.effects) + " | " + describeEffects(clone.effects); got != want {
				t.Errorf("%s, %s: the clone makes %q of it, and the machine %q", sec.title, e.in, got, want)
			}
		}
	}
}

// clone returns a copy. The steps of one machine do not change the other.
func (m *Machine) clone() *Machine {
	c := *m
	c.out = nil
	c.phase = clonePhase(m.phase)
	c.quarantine.versions = maps.Clone(m.quarantine.versions)
	c.quarantine.entries = maps.Clone(m.quarantine.entries)
	for key, e := range c.quarantine.entries { // the order does not matter: each is copied by itself
		copied := *e
		c.quarantine.entries[key] = &copied
	}
	if m.refetches.open != nil {
		a := *m.refetches.open
		c.refetches.open = &a
	}
	if m.history.unverified != nil {
		u := *m.history.unverified
		c.history.unverified = &u
	}
	c.verify.keysWithEvents = maps.Clone(m.verify.keysWithEvents)
	return &c
}

func clonePhase(p phase) phase {
	switch p := p.(type) {
	case *waiting:
		c := *p
		return &c
	case *listing:
		c := *p
		return &c
	case *streaming:
		c := *p
		return &c
	case *watching:
		c := *p
		return &c
	default:
		panic(fmt.Sprintf("protocol: a phase that cannot be cloned: %T", p))
	}
}
