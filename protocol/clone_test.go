package protocol

import (
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
			clone := &stage{m: s.m.Clone(), at: s.at}
			was := &stage{m: s.m.Clone(), at: s.at}
			e.input(s)
			want := describeNext(was, s) + " | " + describeEffects(s.effects)
			e.input(clone)
			if got := describeNext(was, clone) + " | " + describeEffects(clone.effects); got != want {
				t.Errorf("%s, %s: the clone makes %q of it, and the machine %q", sec.title, e.in, got, want)
			}
		}
	}
}
