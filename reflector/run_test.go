package reflector

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
)

func TestRunListsThenWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		s := r.synced()
		s.event(listwatch.Added, "c", "11")
		s.event(listwatch.Modified, "a", "12")
		s.event(listwatch.Deleted, "b", "13")
		r.told("add c; update a; delete b")
		s.event(listwatch.Bookmark, "", "20")
		r.told("")
		s.events <- io.EOF
		r.expect(`watch "20" for 300s`)
		if !s.closed {
			t.Error("the stream that ended was not closed before the next was opened")
		}
	})
}

func TestStopInEveryPhase(t *testing.T) {
	forbidden := statusErr(http.StatusForbidden, metav1.StatusReasonForbidden, 0)
	for name, reach := range map[string]func(r *rig){
		"listing":               func(r *rig) { r.expect(`list "0" limit 500 continue ""`) },
		"waiting for the watch": func(r *rig) { r.synced2(); r.expect(`watch "10" for 300s`) },
		"watching":              func(r *rig) { r.synced() },
		"backing off":           func(r *rig) { r.fake.lists <- listAnswer{err: forbidden} },
		"behind on events": func(r *rig) {
			s := r.synced()
			for range 3 {
				s.event(listwatch.Added, "c", "11")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Options{})
				reach(r)
				synctest.Wait()
				before := time.Now()
				err := r.end()
				if !errors.Is(err, context.Canceled) {
					t.Errorf("Run returned %v, want context.Canceled", err)
				}
				if took := time.Since(before); took != 0 {
					t.Errorf("Run took %v to stop", took)
				}
			})
		})
	}
}

// synced2 gives the list but leaves the watch unanswered.
func (r *rig) synced2() {
	r.t.Helper()
	r.expect(`list "0" limit 500 continue ""`)
	r.fake.page("10", "a", "b")
	synctest.Wait()
}

func TestRunTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		r.synced()
		if err := r.Run(t.Context()); !errors.Is(err, ErrRunning) {
			t.Errorf("second Run returned %v, want ErrRunning", err)
		}
	})
}

func TestRunAgainGoesOnWithTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		s := r.synced()
		s.event(listwatch.Added, "c", "11")
		r.told("add c")
		_ = r.end()
		r.run()
		r.expect(`watch "11" for 300s`)
	})
}

func TestRunAgainListsWhenNothingWasListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		r.expect(`list "0" limit 500 continue ""`)
		_ = r.end()
		r.run()
		r.expect(`list "0" limit 500 continue ""`)
	})
}

func TestSinkThatFailsAsAWholeIsListedAgain(t *testing.T) {
	full := errors.New("disk full")
	for name, test := range map[string]struct {
		fail string
		then func(s *stream)
	}{
		"resync":  {"resync", func(*stream) { later(time.Minute) }},
		"replace": {"replace a,b @10", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var problems []Problem
				trace := &Trace{Problem: func(p Problem) { problems = append(problems, p) }}
				r := newRig(t, Options{Trace: trace, Resync: time.Minute})
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
				if len(problems) != 1 || problems[0].Class != SinkProblem || !errors.Is(problems[0].Err, full) {
					t.Errorf("reported %v, want one problem of the sink", problems)
				}
			})
		})
	}
}

// A server that accepts the watch and then says nothing at all is half-open.
func TestStreamThatOutlivesItsTimeoutIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ends []WatchEnd
		r := newRig(t, Options{Trace: &Trace{WatchEnd: func(e WatchEnd) { ends = append(ends, e) }}})
		s := r.synced()
		s.event(listwatch.Added, "c", "11")
		later(5*time.Minute + 9*time.Second)
		r.expect("")
		later(2 * time.Second)
		r.expect(`watch "11" for 300s`)
		if !s.closed {
			t.Error("the dead stream was not closed")
		}
		if len(ends) != 1 || ends[0].Reason != TimedOut || ends[0].Events != 1 || ends[0].ResourceVersion != "11" {
			t.Errorf("reported %+v, want one end: timed out after 1 event at 11", ends)
		}
	})
}

func TestResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Resync: time.Minute})
		r.synced()
		later(3*time.Minute + time.Second)
		r.told("resync; resync; resync")
	})
}

func TestObjectThatCannotBeDecodedIsReportedAndPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var problems []string
		trace := &Trace{Problem: func(p Problem) { problems = append(problems, p.Class.String()+" "+p.Key) }}
		r := newRig(t, Options{Trace: trace})
		bad := func(key, version string) *listwatch.ObjectError {
			return &listwatch.ObjectError{Meta: listwatch.Meta{Key: key, ResourceVersion: version}, Err: errors.New("bad field")}
		}
		r.fake.lists <- listAnswer{page: &listwatch.Page[string]{
			Items: []string{"a"}, Errors: []*listwatch.ObjectError{bad("x", "5")}, ResourceVersion: "10",
		}}
		r.told("replace a @10")
		s := r.fake.open()
		s.events <- listwatch.Event[string]{Type: listwatch.Modified, Meta: listwatch.Meta{Key: "y", ResourceVersion: "11"}, Err: bad("y", "11")}
		s.event(listwatch.Modified, "a", "12")
		r.told("update a")
		if want := []string{"object x", "object y"}; !slices.Equal(problems, want) {
			t.Errorf("reported %q, want %q", problems, want)
		}
	})
}

func TestTraceTellsTheStoryInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var story []string
		tell := func(what string) { story = append(story, what) }
		r := newRig(t, Options{Trace: &Trace{
			ListStart:  func(e ListStart) { tell("list " + e.ResourceVersion) },
			ListDone:   func(e ListDone) { tell("listed " + e.ResourceVersion) },
			WatchStart: func(e WatchStart) { tell("watch " + e.ResourceVersion) },
			WatchOpen:  func() { tell("open") },
			Event:      func(e Event) { tell(e.Type.String() + " " + e.Key) },
			Bookmark:   func(version string) { tell("bookmark " + version) },
			WatchEnd:   func(e WatchEnd) { tell("end " + e.Reason.String()) },
			Relist:     func(e Relist) { tell("relist " + e.Reason.String()) },
			Backoff:    func(e Backoff) { tell("wait " + e.Delay.String()) },
			Synced:     func() { tell("synced") },
			Problem:    func(e Problem) { tell("problem " + e.Class.String()) },
		}})
		s := r.synced()
		s.event(listwatch.Added, "c", "11")
		s.event(listwatch.Bookmark, "", "12")
		s.event(listwatch.Bookmark, "", "9")
		s.events <- gone()
		later(time.Second)
		r.fake.page("20", "a")
		synctest.Wait()
		want := []string{
			"list 0", "listed 10", "synced", "watch 10", "open", "ADDED c", "bookmark 12", "problem version",
			"end expired", "relist expired", "wait 800ms", "list 12", "listed 20", "watch 20",
		}
		if !slices.Equal(story, want) {
			t.Errorf("trace told\n%q, want\n%q", story, want)
		}
	})
}

// The rate at which streams are opened follows the curve even where each
// delivers something.
func TestStreamsThatDieYoungSlowDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		s := r.synced()
		begin := time.Now()
		var gaps []time.Duration
		for range 8 {
			s.event(listwatch.Modified, "a", "11")
			s.events <- io.ErrUnexpectedEOF
			<-r.fake.asked
			gaps = append(gaps, time.Since(begin))
			begin = time.Now()
			s = r.fake.open()
		}
		ms := time.Millisecond
		want := []time.Duration{0, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 12800 * ms, 25600 * ms, 30000 * ms}
		if !slices.Equal(gaps, want) {
			t.Errorf("streams were opened after %v, want %v", gaps, want)
		}
	})
}

func TestFatal(t *testing.T) {
	forbidden := statusErr(http.StatusForbidden, metav1.StatusReasonForbidden, 0)
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		r := newRig(t, Options{Fatal: func(err error) bool {
			var outage *Outage
			return errors.As(err, &outage) && time.Since(outage.Since) > 2*time.Second
		}})
		for range 3 { // after 0, 0.8 and 2.4 s
			<-r.fake.asked
			r.fake.lists <- listAnswer{err: forbidden}
		}
		err := <-r.done
		r.done <- err
		var outage *Outage
		if !errors.As(err, &outage) || !outage.Since.Equal(begin) || !apierrors.IsForbidden(err) {
			t.Errorf("Run returned %v, want an outage since %v", err, begin)
		}
		if got := r.Status().State; got != Stopped {
			t.Errorf("the state is %v", got)
		}
	})
}

func TestStopInInitialEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Initial: Watch})
		r.expect(`watch "" for 300s`)
		s := r.fake.open()
		s.event(listwatch.Added, "a", "5")
		r.told("")
		if err := r.end(); !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		r.run()
		r.expect(`watch "" for 300s`)
	})
}

// A stalled server must not hold a list for ever; a slow one that sends may take its
// time.
func TestListThatBringsNothingIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var done []error
		r := newRig(t, Options{Trace: &Trace{ListDone: func(e ListDone) { done = append(done, e.Err) }}})
		r.expect(`list "0" limit 500 continue ""`)
		later(time.Minute)
		r.board.heard(1)
		later(119 * time.Second)
		r.expect("")
		later(2 * time.Second)
		r.expect(`list "0" limit 500 continue ""`)
		if len(done) != 1 || !errors.Is(done[0], errSilent) {
			t.Errorf("lists ended with %v, want one for silence", done)
		}
		if status := r.Status(); status.FailingSince.IsZero() || !errors.Is(status.LastError, errSilent) {
			t.Errorf("status is %+v, want a failure", status)
		}
	})
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

func TestServerThatDecidesOnTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{MinWatchTimeout: -1})
		r.expect(`list "0" limit 500 continue ""`)
		r.fake.page("10", "a")
		r.expect(`watch "10"`)
		r.fake.open()
		later(24 * time.Hour)
		r.expect("")
	})
}

func TestRetryAfterOfYears(t *testing.T) {
	var p pace
	err := statusErr(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 1<<30)
	if got := p.next(tableRules, err); got != maxRetryAfter {
		t.Errorf("the pause is %v, want %v", got, maxRetryAfter)
	}
}

// A list that the sink refused has not come: what made it a list of the most recent state
// holds for the next.
func TestRefusedReplaceForgetsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		r.expect(`list "0" limit 500 continue ""`)
		r.fake.page("", "a") // it may be of any time
		r.told("replace a @")
		r.expect(`watch "" for 300s`)
		r.fake.open().events <- io.EOF
		later(time.Second)
		r.expect(`list "" limit 500 continue ""`)
		r.sink.refuse("replace b @20", errFull)
		r.fake.page("20", "b")
		later(time.Minute)
		r.expect(`list "" limit 500 continue ""`)
	})
}

// A list that is asked for while another is on its way is made, although the sink refuses
// that one.
func TestRelistAfterRefusedReplace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Patience: -1})
		r.expect(`list "0" limit 500 continue ""`)
		done := make(chan error, 1)
		go func() { done <- r.Relist(t.Context()) }()
		synctest.Wait()
		r.sink.refuse("replace a @10", errFull)
		r.fake.page("10", "a")
		later(time.Second)
		r.expect(`list "" limit 500 continue ""`)
		r.fake.page("20", "b")
		if err := <-done; err != nil {
			t.Error(err)
		}
		r.told("replace a @10; replace b @20")
	})
}

// The same where initial events are on their way: the stream that was refused is hung up,
// and what it still says is no part of the next.
func TestRelistAfterRefusedInitialEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Initial: Watch})
		r.expect(`watch "" for 300s`)
		done := make(chan error, 1)
		go func() { done <- r.Relist(t.Context()) }()
		first := r.fake.open()
		first.event(listwatch.Added, "a", "5")
		synctest.Wait()
		r.sink.refuse("replace a @10", errFull)
		first.end("10")
		synctest.Wait()
		if !first.closed {
			t.Error("the stream whose events the sink refused is still open")
		}
		later(2 * time.Second)
		r.expect(`watch "" for 300s`)
		second := r.fake.open()
		second.event(listwatch.Added, "b", "15")
		second.end("20")
		if err := <-done; err != nil {
			t.Error(err)
		}
		r.told("replace a @10; replace b @20")
	})
}

// Version 0 stands for any, so that nothing can follow what ends with it.
func TestInitialEventsThatEndAtVersionZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Initial: Watch})
		r.expect(`watch "" for 300s`)
		r.fake.open().end("0")
		r.expect(`list "" limit 500 continue ""`)
		r.told("")
	})
}
