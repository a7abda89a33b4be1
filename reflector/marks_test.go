package reflector

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/listwatch"
)

// marked are notes that are told how far they are.
type marked struct{ *notes }

func (m marked) Mark(version string) { _ = m.note("mark %s", version) }

// syncedMarked is synced with such a sink.
func syncedMarked(t *testing.T) (*rig, *stream) {
	r := &rig{t: t, fake: newFake(), sink: &notes{fail: map[string]error{}}}
	r.Reflector = New(r.fake, marked{r.sink}, Options{Rand: func() float64 { return 0 }})
	r.run()
	t.Cleanup(func() { _ = r.end() })
	r.expect(`list "0" limit 500 continue ""`)
	r.fake.page("10", "a", "b")
	r.told("replace a,b @10; mark 10")
	r.expect(`watch "10" for 300s`)
	return r, r.fake.open()
}

// A mark follows what it is about, and comes only if the resume point has moved.
func TestMarksFollowEventsAndBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := syncedMarked(t)
		s.event(listwatch.Added, "c", "11")
		r.told("add c; mark 11")
		s.event(listwatch.Bookmark, "", "15")
		r.told("mark 15")
		s.event(listwatch.Bookmark, "", "15")
		s.event(listwatch.Bookmark, "", "9")
		r.told("")
	})
}

// A batch is marked once, behind its last event.
func TestBatchIsMarkedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, first := syncedMarked(t)
		synctest.Wait()
		first.events <- errors.New("cut")
		later(time.Second)
		r.expect(`watch "10" for 300s`)
		b := r.bursting()
		b.send("+c@11 ~a@12 =@13 -b@14", nil)
		r.told("add c; update a; delete b; mark 14")
	})
}

// What is in quarantine does not hold the marks up, and what was asked for moves none: it
// says nothing of other objects.
func TestMarksPassWhatIsInQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := syncedMarked(t)
		r.sink.refuse("update a", errFull)
		s.event(listwatch.Modified, "a", "11")
		r.told("update a; mark 11")
		later(time.Second)
		r.expect(askA)
		r.fake.answer("20", at("a", "19"))
		r.told("add a")
		s.event(listwatch.Modified, "b", "12")
		r.told("update b; mark 12")
		s.event(listwatch.Modified, "a", "19")
		r.told("mark 19")
	})
}

// A list is marked also if it is older than the last mark, or as old.
func TestListsAreMarked(t *testing.T) {
	for _, version := range []string{"11", "12", "5"} {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, s := syncedMarked(t)
				s.event(listwatch.Added, "c", "11")
				r.told("add c; mark 11")
				done := make(chan error, 1)
				go func() { done <- r.Relist(t.Context()) }()
				r.expect(`list "" limit 500 continue ""`)
				r.fake.page(version, "a")
				if err := <-done; err != nil {
					t.Error(err)
				}
				r.told("replace a @" + version + "; mark " + version)
			})
		})
	}
}

// A list that the sink refuses is not marked.
func TestRefusedListIsNotMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := syncedMarked(t)
		s.events <- gone()
		later(time.Second)
		r.expect(`list "10" limit 0 continue ""`)
		r.sink.refuse("replace a @20", errFull)
		r.fake.page("20", "a")
		r.told("replace a @20")
		later(time.Second)
		r.expect(`list "10" limit 0 continue ""`)
		r.fake.page("21", "a")
		r.told("replace a @21; mark 21")
	})
}
