package reflector

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/object"
)

// syncedMarked is synced with a sink that notes how far it is said to be.
func syncedMarked(t *testing.T) (*rig, *stream) {
	r := &rig{t: t, fake: newFake(), sink: &notes{fail: map[string]error{}, marks: true}}
	r.Reflector = New(r.fake, r.sink, Options{Rand: func() float64 { return 0 }})
	r.run()
	t.Cleanup(func() { _ = r.end() })
	r.expect(`list "0" limit 500 continue ""`)
	r.fake.page("10", "a", "b")
	r.told("replace a,b @10; at 10")
	r.expect(`watch "10" for 300s`)
	return r, r.fake.open()
}

// The sink is told how far it is behind what it was given, and if the resume version has moved.
func TestMarksFollowEventsAndBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := syncedMarked(t)
		s.event(object.Added, "c", "11")
		r.told("add c; at 11")
		s.event(object.Bookmark, "", "15")
		r.told("at 15")
		s.event(object.Bookmark, "", "15")
		s.event(object.Bookmark, "", "9")
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
		r.told("add c; update a; delete b; at 14")
	})
}

// What is in quarantine does not hold the marks up, and what was asked for moves none: it
// says nothing of other objects.
func TestMarksPassWhatIsInQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := syncedMarked(t)
		r.sink.refuse("update a", errFull)
		s.event(object.Modified, "a", "11")
		r.told("update a; at 11")
		later(time.Second)
		r.expect(askA)
		r.fake.answer("20", at("a", "19"))
		r.told("add a; at 11")
		s.event(object.Modified, "b", "12")
		r.told("update b; at 12")
		s.event(object.Modified, "a", "19")
		r.told("at 19")
	})
}

// A list is marked also if it is older than the last mark, or as old.
func TestListsAreMarked(t *testing.T) {
	for _, version := range []string{"11", "12", "5"} {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, s := syncedMarked(t)
				s.event(object.Added, "c", "11")
				r.told("add c; at 11")
				done := make(chan error, 1)
				go func() { done <- r.Relist(t.Context()) }()
				r.expect(`list "" limit 500 continue ""`)
				r.fake.page(version, "a")
				if err := <-done; err != nil {
					t.Error(err)
				}
				r.told("replace a @" + version + "; at " + version)
			})
		})
	}
}
