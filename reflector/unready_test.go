package reflector_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// throttled is the answer of a server that does not want to be asked for so many seconds.
func throttled(seconds int32) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests, Message: "later",
		Details: &metav1.StatusDetails{RetryAfterSeconds: seconds},
	}}
}

// metadataOf answers the lists of a verification.
type metadataOf func(ctx context.Context) (*listwatch.Page[partial], error)

func (m metadataOf) List(ctx context.Context, _ metav1.ListOptions) (*listwatch.Page[partial], error) {
	return m(ctx)
}

func (metadataOf) Watch(context.Context, metav1.ListOptions) (listwatch.Watch[partial], error) {
	return nil, io.EOF
}

// More objects than the quarantine has room for are no drift: lists look after them already.
func TestVerificationReportsNoDriftOfObjectsThatListsLookAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newScripted()
		bad := map[string]partial{}
		for i := range 1200 {
			name := fmt.Sprintf("bad-%04d", i)
			bad[name] = newPartial(name, "u", "50")
		}
		server.list = func(metav1.ListOptions) (*listwatch.Page[partial], error) {
			page := pageOf("100", newPartial("good", "u", "60"))
			for _, obj := range bad {
				page.Errors = append(page.Errors, undecodable(metaOf(obj)))
			}
			return page, nil
		}
		server.ask = func(_ context.Context, name string) (*listwatch.Page[partial], error) {
			page := pageOf("100")
			if obj, ok := bad[name]; ok {
				page.Errors = append(page.Errors, undecodable(metaOf(obj)))
			}
			return page, nil
		}
		all := []partial{newPartial("good", "u", "60")}
		for _, obj := range bad {
			all = append(all, obj)
		}
		drift := 0
		r := reflector.New[partial](server, store.New(store.Options[partial]{}), reflector.Options{
			Rand: zero,
			Verify: reflector.Verify{Every: time.Minute, Metadata: metadataOf(func(context.Context) (*listwatch.Page[partial], error) {
				return pageOf("100", all...), nil
			})},
			Trace: &reflector.Trace{Problem: func(p reflector.Problem) {
				if p.Class == reflector.DriftProblem {
					drift++
				}
			}},
		})
		stop := running(t, r)
		later(time.Hour)
		if drift != 0 {
			t.Errorf("%d objects are reported as drift, and none differs in anything but that it cannot be decoded", drift)
		}
		stop()
	})
}

// What a verification finds does not cut a pause short that the server asked for.
func TestVerificationKeepsThePauseThatTheServerAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newScripted()
		compare := make(chan struct{})
		var many []partial
		for i := range 200 {
			many = append(many, newPartial(fmt.Sprint("x", i), "u", "50"))
		}
		r := reflector.New[partial](server, store.New(store.Options[partial]{}), reflector.Options{
			Rand: zero,
			Verify: reflector.Verify{Every: 30 * time.Second, Metadata: metadataOf(func(context.Context) (*listwatch.Page[partial], error) {
				<-compare
				return pageOf("100", many...), nil
			})},
		})
		stop := running(t, r)
		stream := <-server.streams
		later(31 * time.Second)
		stream.events <- throttled(600)
		synctest.Wait()
		close(compare)
		later(9 * time.Minute)
		if lists, _, _ := server.count(); lists != 1 {
			t.Errorf("%d lists, want none within the 10 minutes that the server asked for", lists-1)
		}
		later(80 * time.Second)
		if lists, _, _ := server.count(); lists != 2 {
			t.Errorf("%d lists, want one after the pause, because 200 objects differ", lists-1)
		}
		stop()
	})
}

// A server that is throttling initial events is not asked for a list before the time that it gave.
func TestListInsteadOfInitialEventsKeepsRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var mu sync.Mutex
		var all []string
		ask := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, fmt.Sprint(what, " ", time.Since(begin)))
		}
		asked := func() string {
			mu.Lock()
			defer mu.Unlock()
			return strings.Join(all, ", ")
		}
		server := newScripted()
		server.watch = func(metav1.ListOptions) error {
			ask("watch")
			return throttled(60)
		}
		server.list = func(metav1.ListOptions) (*listwatch.Page[partial], error) {
			ask("list")
			return pageOf("100"), nil
		}
		r := reflector.New[partial](server, store.New(store.Options[partial]{}), reflector.Options{Initial: reflector.Watch, Rand: zero})
		stop := running(t, r)
		later(119 * time.Second)
		if got, want := asked(), "watch 0s, watch 1m0s"; got != want {
			t.Errorf("asked for %s; want %s, and nothing before 2m", got, want)
		}
		later(2 * time.Second)
		if got := asked(); !strings.Contains(got, "list 2m0s") {
			t.Errorf("asked for %s; want a list at 2m", got)
		}
		stop()
	})
}

// Initial events none of which can be decoded are a failure, as a list of that kind is: the status says so, and Fatal is
// asked.
func TestUndecodableInitialEventsAreAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newScripted()
		asked := 0
		r := reflector.New[partial](server, store.New(store.Options[partial]{}), reflector.Options{
			Initial: reflector.Watch, Rand: zero, Fatal: func(error) bool { asked++; return false },
		})
		stop := running(t, r)
		stream := <-server.streams
		stream.undecodable(listwatch.Added, newPartial("a", "u", "9"))
		stream.events <- listwatch.Event[partial]{Type: listwatch.Bookmark, Meta: listwatch.Meta{ResourceVersion: "10"}, InitialEventsEnd: true}
		synctest.Wait()
		if status := r.Status(); status.LastError == nil || status.FailingSince.IsZero() {
			t.Errorf("status has the failure %v since %v, want that nothing could be decoded", status.LastError, status.FailingSince)
		}
		if asked != 1 {
			t.Errorf("Fatal was asked %d times, want once", asked)
		}
		stop()
	})
}

// A watch that ends in good order after the time that it was asked for is no failure, however short that time is.
func TestShortWatchesFollowEachOtherWithoutPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newScripted()
		backoffs := 0
		r := reflector.New[partial](server, store.New(store.Options[partial]{}), reflector.Options{
			MinWatchTimeout: 5 * time.Second, Rand: zero,
			Trace: &reflector.Trace{Backoff: func(reflector.Backoff) { backoffs++ }},
		})
		stop := running(t, r)
		for i := range 50 {
			stream := <-server.streams
			stream.event(listwatch.Added, newPartial("a", "u", fmt.Sprint(101+i)))
			<-time.After(5 * time.Second)
			stream.events <- io.EOF
		}
		synctest.Wait()
		if backoffs != 0 {
			t.Errorf("%d pauses between watches of 5 s, which is what they were asked for", backoffs)
		}
		stop()
	})
}
