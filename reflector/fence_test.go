package reflector

import (
	"testing"
	"time"

	"github.com/relist-go/relist/listwatch"
)

// askedFor brings a reflector that has synced to where the server was asked for a, and has
// answered as of 20 that it is at 19. The resume point is 11.
func (r *rig) askedFor() *stream {
	r.t.Helper()
	s := r.synced()
	r.askForBad(s, listwatch.Modified, "11")
	r.fake.answer("20", at("a", "19"))
	r.told("add a")
	return s
}

// What an answer has told stays told: a second Run does not take the object back.
func TestRunAgainKnowsWhatWasAskedFor(t *testing.T) {
	withRig(t, Options{}, func(t *testing.T, r *rig) {
		r.askedFor()
		_ = r.end()
		if status := r.Status(); status.ResourceVersion != "11" {
			t.Errorf("the resume point is %s, want 11: the answer speaks of a alone", status.ResourceVersion)
		}
		r.run()
		r.expect(`watch "10" for 300s`)
		s := r.fake.open()
		s.event(listwatch.Modified, "a", "11")
		s.event(listwatch.Modified, "b", "15")
		s.event(listwatch.Deleted, "a", "16")
		s.event(listwatch.Added, "a", "19")
		s.event(listwatch.Modified, "b", "20")
		s.event(listwatch.Modified, "a", "21")
		r.told("update b; update b; update a")
	})
}

// A list must be as new as the answer, or a would go back.
func TestListIsNotOlderThanWhatWasAskedFor(t *testing.T) {
	withRig(t, Options{}, func(_ *testing.T, r *rig) {
		s := r.askedFor()
		s.events <- gone()
		later(time.Second)
		r.expect(`list "20" limit 0 continue ""`)
		r.fake.page("20", "a", "b")
		r.told("replace a,b @20")
		r.expect(`watch "20" for 300s`)
	})
}
