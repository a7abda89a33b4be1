package reflector

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/protocol"
)

func TestSinkThatFailsAsAWholeIsListedAgain(t *testing.T) {
	full := errors.New("disk full")
	for name, test := range map[string]struct {
		fail string
		then func(s *stream)
	}{
		"resync":  {"resync", func(*stream) { later(30 * time.Second) }},
		"replace": {"replace a,b @10", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var problems []Problem
				trace := &Trace{Problem: func(p Problem) { problems = append(problems, p) }}
				r := newRig(t, Options{Trace: trace, Resync: 30 * time.Second})
				r.sink.refuse(test.fail, full)
				if test.then == nil {
					r.expect(`list "0" limit 500 continue ""`)
					r.fake.page("10", "a", "b")
				} else {
					test.then(r.synced())
				}
				r.told(test.fail)
				r.expect("")
				later(time.Second)
				if got := <-r.fake.asked; got[:4] != "list" {
					t.Errorf("after the sink failed, asked for %s, want a list", got)
				}
				if len(problems) != 1 || problems[0].Class != protocol.SinkProblem || !errors.Is(problems[0].Err, full) {
					t.Errorf("reported %v, want one problem of the sink", problems)
				}
			})
		})
	}
}

// What the sink has refused as a whole was not applied: nobody may think so.
func TestRefusedReplaceDoesNotMoveTheResumePoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		r.sink.refuse("replace a,b @10", errFull)
		r.expect(`list "0" limit 500 continue ""`)
		r.fake.page("10", "a", "b")
		synctest.Wait()
		status := r.Status()
		if status.ResourceVersion != "" || status.Synced || !errors.Is(status.LastError, errFull) || status.FailingSince.IsZero() {
			t.Errorf("status is %+v, want a failure at no version", status)
		}
		later(time.Second)
		r.expect(`list "0" limit 500 continue ""`)
	})
}

// A resync that fails again and again must not put the list off.
func TestFailingResyncLetsTheWaitEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Resync: 100 * time.Millisecond})
		r.sink.always = map[string]error{"resync": errFull}
		r.synced()
		later(time.Second)
		r.expect(`list "10" limit 0 continue ""`)
	})
}
