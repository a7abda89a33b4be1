package reflector

import (
	"testing"
	"time"

	"github.com/relist-go/relist/listwatch"
)

// askedFor brings a reflector that has synced to where the server was asked for a, and has
// answered as of 20 that it is at 19. The resume version is 11.
func (r *rig) askedFor() *stream {
	r.t.Helper()
	s := r.synced()
	r.askForBad(s, listwatch.Modified, "11")
	r.fake.answer("20", at("a", "19"))
	r.told("add a")
	return s
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
