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

	"github.com/relist-go/relist/listwatch/source"
)

func TestRunListsThenWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		s := r.synced()
		s.event(source.Added, "c", "11")
		s.event(source.Modified, "a", "12")
		s.event(source.Deleted, "b", "13")
		r.told("add c; update a; delete b")
		s.event(source.Bookmark, "", "20")
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
				s.event(source.Added, "c", "11")
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

func TestStopInInitialEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Initial: Streaming})
		r.expect(`watch "" for 300s`)
		s := r.fake.open()
		s.event(source.Added, "a", "5")
		r.told("")
		if err := r.end(); !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		r.run()
		r.expect(`watch "" for 300s`)
	})
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
		s.event(source.Added, "c", "11")
		s.event(source.Bookmark, "", "12")
		r.told("add c")
		_ = r.end()
		r.run()
		r.expect(`watch "12" for 300s`)
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

func TestFatal(t *testing.T) {
	forbidden := statusErr(http.StatusForbidden, metav1.StatusReasonForbidden, 0)
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		r := newRig(t, Options{Fatal: func(err error) bool {
			var outage *OutageError
			return errors.As(err, &outage) && time.Since(outage.Since) > 2*time.Second
		}})
		for range 4 { // after 0, 0.8, 1.6 and 2.4 s
			<-r.fake.asked
			r.fake.lists <- listAnswer{err: forbidden}
		}
		err := <-r.done
		r.done <- err
		var outage *OutageError
		if !errors.As(err, &outage) || !outage.Since.Equal(begin) || !apierrors.IsForbidden(err) {
			t.Errorf("Run returned %v, want an outage since %v", err, begin)
		}
		if got := r.Status().State; got != Stopped {
			t.Errorf("the state is %v", got)
		}
	})
}

func TestObjectThatCannotBeDecodedIsReportedAndPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var problems []string
		trace := &Trace{Problem: func(p Problem) { problems = append(problems, p.Class.String()+" "+p.Key) }}
		r := newRig(t, Options{Trace: trace})
		r.fake.lists <- listAnswer{page: &source.Page[string]{
			Items: []string{"a"}, Errors: []*source.ObjectError{badField(at("x", "5"))}, ResourceVersion: "10",
		}}
		r.told("replace a @10")
		s := r.fake.open()
		s.undecodable(source.Modified, "y", "11")
		s.event(source.Modified, "a", "12")
		r.told("update a")
		if want := []string{"object x", "object y"}; !slices.Equal(problems, want) {
			t.Errorf("reported %q, want %q", problems, want)
		}
	})
}
