package informer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/reflector"
)

// waitForSync waits for a time, and returns what WaitForSync says.
func waitForSync(r *rig, d time.Duration) error {
	ctx, cancel := context.WithTimeout(r.t.Context(), d)
	defer cancel()
	return r.WaitForSync(ctx)
}

func TestWaitForSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a"), informer.Options[*thing]{})
		result := make(chan error, 1)
		go func() { result <- waitForSync(r, time.Minute) }()
		r.start()
		if err := <-result; err != nil || r.Store().Len() != 1 {
			t.Errorf("WaitForSync returned %v with %d objects in the store, want nil with 1", err, r.Store().Len())
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.WaitForSync(ended); err != nil {
			t.Errorf("WaitForSync returned %v, although the store has synced", err)
		}
	})
}

// When the store has the first list, it also has the version of that list, even if the list was
// empty. The reflector is held up after it has given the list to the queue.
func TestWaitForSyncKnowsTheVersion(t *testing.T) {
	for _, objects := range []int{0, 2} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake("a", "b")
			for _, key := range []string{"a", "b"}[objects:] {
				f.Remove(key)
			}
			held := make(chan struct{})
			trace := &reflector.Trace{ListDone: func(reflector.ListDone) { <-held }}
			r := newRig(t, f, informer.Options[*thing]{Reflector: reflector.Options{Trace: trace}})
			told := ""
			if _, err := r.AddHandler(informer.Handler[*thing]{OnSynced: func() { told = r.Store().ResourceVersion() }}); err != nil {
				t.Fatal(err)
			}
			r.start()
			if r.HasSynced() && r.Store().ResourceVersion() == "" {
				t.Errorf("the informer has synced, and the store of %d objects has no version", r.Store().Len())
			}
			close(held)
			must.OK(t, r.WaitForSync(t.Context()))
			synctest.Wait()
			if told == "" {
				t.Error("OnSynced was called before the store had a version")
			}
		})
	}
}

func TestWaitForSyncSaysWhatIsInTheWay(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("no\nright"))
	for _, tt := range []struct {
		name string
		make func(t *testing.T) *rig
		want string
	}{
		{"not run", func(t *testing.T) *rig {
			return newRig(t, newFake("a"), informer.Options[*thing]{})
		}, "Run was not called"},
		{"refused", func(t *testing.T) *rig {
			f := newFake("a")
			f.Fail(fmt.Errorf("list things: %w", forbidden))
			r := newRig(t, f, informer.Options[*thing]{})
			r.start()
			return r
		}, "the next request is sent in 5.6s; requests have failed for 1m0s, the last one 24.4s ago: list things: things is forbidden: no right"},
		{"no answer", func(t *testing.T) *rig {
			r := newRig(t, newFake(), informer.Options[*thing]{})
			r.Informer = informer.New(newFake().unanswered("list"), informer.Options[*thing]{Logger: silent})
			r.start()
			return r
		}, "the list was asked for 1m0s ago, and nothing has come"},
		{"no answer twice", func(t *testing.T) *rig {
			r := newRig(t, newFake(), informer.Options[*thing]{})
			r.Informer = informer.New(newFake().unanswered("list"), informer.Options[*thing]{Logger: silent, Reflector: reflector.Options{
				ResponseIdleTimeout: 50 * time.Second, Rand: func() float64 { return 0 },
			}})
			r.start()
			return r
		}, "the list was asked for 9.2s ago, and nothing has come; requests have failed for 10s, the last one 10s ago: nothing came for too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := tt.make(t)
				err := waitForSync(r, time.Minute)
				if want := "informer: not synced: context deadline exceeded: " + tt.want; err == nil || err.Error() != want {
					t.Errorf("WaitForSync returned\n%v, want\n%s", err, want)
				}
				var sync *informer.SyncError
				if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &sync) {
					t.Errorf("%T is no SyncError that wraps the error of the context", err)
				}
				if refused := tt.name == "refused"; apierrors.IsForbidden(err) != refused {
					t.Errorf("IsForbidden = %v", !refused)
				}
			})
		})
	}
}

// An index function that takes its time keeps the store behind the list.
func TestWaitForSyncSaysHowFarTheStoreIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a", "b", "c", "d"), informer.Options[*thing]{
			Indexers: map[string]func(*thing) []string{"slow": func(*thing) []string { <-time.After(time.Second); return nil }},
		})
		r.start()
		err := waitForSync(r, 1500*time.Millisecond)
		if want := "informer: not synced: context deadline exceeded: the list has come, 1 of its objects are in the store, and 2 wait for it"; err == nil || err.Error() != want {
			t.Errorf("WaitForSync returned\n%v, want\n%s", err, want)
		}
		if err := waitForSync(r, time.Minute); err != nil {
			t.Error(err)
		}
	})
}

func TestWaitForSyncEndsWithRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a")
		f.Fail(&apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}})
		r := newRig(t, f, informer.Options[*thing]{})
		r.start()
		result := make(chan error, 1)
		go func() { result <- waitForSync(r, time.Minute) }()
		synctest.Wait()
		r.stop()
		if err := <-result; !errors.Is(err, informer.ErrStopped) {
			t.Errorf("WaitForSync returned %v, want ErrStopped", err)
		}
	})
}
