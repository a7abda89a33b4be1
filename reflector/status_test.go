package reflector

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
)

func TestStatusFollowsTheReflector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if age := New(newFake(), &notes{}, Options{}).Status().Staleness(time.Now()); age != 0 {
			t.Errorf("staleness before Run was called is %v", age)
		}
		r := newRig(t, Options{})
		begin := time.Now()
		at := begin.Add
		check := func(want Status) {
			t.Helper()
			synctest.Wait()
			got := r.Status()
			if (got.LastError == nil) != (want.LastError == nil) || got.LastError != nil && !errors.Is(got.LastError, want.LastError) {
				t.Errorf("last error is %v, want %v", got.LastError, want.LastError)
			}
			got.LastError, want.LastError, want.Started = nil, nil, begin
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("status differs (-want +got):\n%s", diff)
			}
		}
		check(Status{State: Listing, Since: begin})
		if age := r.Status().Staleness(at(5 * time.Second)); age != 5*time.Second {
			t.Errorf("staleness before anything was heard is %v, want the time since Run was called: 5s", age)
		}

		later(time.Second)
		r.fake.page("10", "a")
		check(Status{State: Opening, Since: at(1 * time.Second), Synced: true, ResourceVersion: "10"})

		later(time.Second)
		s := r.fake.open()
		check(Status{State: Watching, Since: at(2 * time.Second), Synced: true, ResourceVersion: "10"})

		later(time.Second)
		s.event(object.Added, "b", "11")
		later(time.Second)
		s.event(object.Bookmark, "", "12")
		open := Status{
			State: Watching, Since: at(2 * time.Second), Synced: true, ResourceVersion: "12",
			LastEvent: at(3 * time.Second), LastBookmark: at(4 * time.Second),
		}
		check(open)
		if age := r.Status().Staleness(at(9 * time.Second)); age != 5*time.Second {
			t.Errorf("staleness is %v, want 5s", age)
		}

		later(time.Second)
		s.events <- io.ErrUnexpectedEOF // forgiven: opened again at once
		check(Status{
			State: Opening, Since: at(5 * time.Second), Synced: true, ResourceVersion: "12", WatchedUntil: at(4 * time.Second),
			LastEvent: at(3 * time.Second), LastBookmark: at(4 * time.Second),
			FailingSince: at(5 * time.Second), LastError: io.ErrUnexpectedEOF, LastErrorTime: at(5 * time.Second),
		})

		if since, err := r.Status().Failing(); !since.Equal(at(5*time.Second)) || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("failing since %v with %v", since, err)
		}

		forbidden := statusErr(http.StatusForbidden, metav1.StatusReasonForbidden, 0)
		later(time.Second)
		r.fake.watches <- watchAnswer{err: forbidden}
		check(Status{
			State: Waiting, Since: at(6 * time.Second), Synced: true, ResourceVersion: "12", WatchedUntil: at(4 * time.Second),
			LastEvent: at(3 * time.Second), LastBookmark: at(4 * time.Second),
			FailingSince: at(5 * time.Second), LastError: forbidden, LastErrorTime: at(6 * time.Second),
			NextRetry: at(6*time.Second + 800*time.Millisecond),
		})
		if age := r.Status().Staleness(at(10 * time.Second)); age != 6*time.Second {
			t.Errorf("staleness is %v, want 6s: since the last bookmark", age)
		}

		later(time.Second)
		r.fake.open()
		check(Status{
			State: Watching, Since: at(7 * time.Second), Synced: true, ResourceVersion: "12",
			LastEvent: at(3 * time.Second), LastBookmark: at(4 * time.Second),
			LastError: forbidden, LastErrorTime: at(6 * time.Second),
		})
		if since, err := r.Status().Failing(); !since.IsZero() || err != nil {
			t.Errorf("while a watch is open, it has failed since %v with %v", since, err)
		}

		_ = r.end()
		if got := r.Status(); got.State != Stopped {
			t.Errorf("state after the end is %v", got.State)
		}
	})
}

// TestStalenessBehindAWatchThatBringsNothing: a server that accepts a watch, and then says
// that the version is gone, has not made the copy any fresher.
func TestStalenessBehindAWatchThatBringsNothing(t *testing.T) {
	for _, c := range []struct {
		name  string
		open  time.Duration // how long the watch is open before it fails
		brief bool          // it brings a bookmark
		want  time.Duration
	}{
		{name: "at once", want: 22 * time.Second},
		{name: "after a while", open: 5 * time.Second, want: 27 * time.Second},
		{name: "after a bookmark", open: 5 * time.Second, brief: true, want: 2 * time.Second},
		{name: "when it had been good", open: 15 * time.Second, want: 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Options{BackoffBase: 20 * time.Second, BackoffCap: 20 * time.Second})
				s := r.synced()
				s.event(object.Added, "c", "11")
				s.event(object.Bookmark, "", "12")
				synctest.Wait()
				s.events <- io.ErrUnexpectedEOF // forgiven: opened again at once
				synctest.Wait()
				r.fake.watches <- watchAnswer{err: statusErr(http.StatusForbidden, metav1.StatusReasonForbidden, 0)}
				later(20 * time.Second)
				s = r.fake.open()
				r.shared.lastByte.note()
				later(c.open)
				if c.brief {
					s.event(object.Bookmark, "", "13")
				}
				synctest.Wait()
				if since := r.Status().FailingSince; !since.IsZero() {
					t.Errorf("failing since %v, while a watch is open", since)
				}
				r.shared.lastByte.note()
				s.events <- statusErr(http.StatusGone, metav1.StatusReasonExpired, 0)
				later(2 * time.Second)
				if age := r.Status().Staleness(time.Now()); age != c.want {
					t.Errorf("staleness is %v, want %v", age, c.want)
				}
			})
		})
	}
}

// TestStalenessUntilTheFirstListIsWhole: bytes of a list that is still coming, and refusals,
// do not make a copy fresh that does not exist yet.
func TestStalenessUntilTheFirstListIsWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		stale := func(want time.Duration) {
			t.Helper()
			synctest.Wait()
			if age := r.Status().Staleness(time.Now()); age != want {
				t.Errorf("staleness is %v, want %v", age, want)
			}
		}
		later(20 * time.Second)
		r.shared.lastByte.note()
		stale(20 * time.Second)
		r.fake.lists <- listAnswer{err: statusErr(http.StatusForbidden, metav1.StatusReasonForbidden, 0)}
		stale(20 * time.Second)
		later(time.Second)
		r.shared.lastByte.note()
		stale(21 * time.Second)
		r.fake.page("10", "a")
		r.fake.open()
		stale(0)
	})
}

// TestStalenessWhileNoWatchIsOpen: while no watch is open, the copy gets older, although nothing
// fails and bytes of other requests come.
func TestStalenessWhileNoWatchIsOpen(t *testing.T) {
	for name, ends := range map[string]func(r *rig, s *stream){
		"Relist": func(r *rig, _ *stream) { go func() { _ = r.Relist(r.t.Context()) }() },
		"a repair": func(_ *rig, s *stream) {
			s.events <- source.Event[string]{Type: object.Modified, Err: badField(object.Meta{})}
		},
		"a clean close": func(_ *rig, s *stream) { s.events <- io.EOF },
		"Run returns":   func(r *rig, _ *stream) { _ = r.end() },
	} {
		t.Run(name, func(t *testing.T) {
			withRig(t, Options{ResponseIdleTimeout: -1, MinWatchTimeout: -1}, func(t *testing.T, r *rig) {
				r.expect(`list "0" limit 500 continue ""`)
				r.fake.page("10", "a", "b")
				s := r.fake.open()
				later(9 * time.Second)
				s.event(object.Bookmark, "", "11")
				synctest.Wait()
				if age := r.Status().Staleness(time.Now()); age != 0 {
					t.Errorf("staleness of a watch that was heard now is %v", age)
				}
				ends(r, s)
				later(9 * time.Minute)
				r.shared.lastByte.note()
				if age := r.Status().Staleness(time.Now()); age < 9*time.Minute-2*time.Second || age > 9*time.Minute {
					t.Errorf("staleness is %v, and no watch has been heard for 9 minutes", age)
				}
			})
		})
	}
}

// TestTimesOfBytesFollowTheMonotonicClock: the wall clock may be set while bytes come. It decides
// neither when a request has been idle for too long, nor how stale the copy is. A bubble of
// synctest has no monotonic clock.
func TestTimesOfBytesFollowTheMonotonicClock(t *testing.T) {
	r := New(newFake(), &notes{}, Options{})
	r.shared.started(time.Now())
	r.shared.lastByte.note()
	asked := start(t.Context(), time.Now(), r.shared.lastByte.note, nil, func(context.Context, *request[string]) {})
	defer asked.stop()
	asked.lastByte.note()
	for what, at := range map[string]time.Time{"status": r.Status().LastByte, "request": asked.heard(time.Now())} {
		if !strings.Contains(at.String(), " m=") {
			t.Errorf("%s: the last byte came at %v, want a time with a monotonic reading", what, at)
		}
	}
}

func TestWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		waited := make(chan error, 1)
		go func() { waited <- r.WaitForVersion(t.Context(), "12") }()
		s := r.synced()
		s.event(object.Added, "c", "11")
		synctest.Wait()
		select {
		case err := <-waited:
			t.Fatalf("WaitForVersion 12 returned %v at 11", err)
		default:
		}
		s.event(object.Bookmark, "", "13")
		if err := <-waited; err != nil {
			t.Error(err)
		}
		if err := r.WaitForVersion(t.Context(), "9"); err != nil {
			t.Errorf("for what is long past: %v", err)
		}
		if err := r.WaitForVersion(t.Context(), "abc"); err == nil {
			t.Error("a version that cannot be compared was accepted")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.WaitForVersion(ctx, "99"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("for what does not come: %v", err)
		}
	})
}
