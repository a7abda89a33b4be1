package reflector_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
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
		server.list = func(metav1.ListOptions) (*source.Page[partial], error) {
			ask("list")
			return pageOf("100"), nil
		}
		r := reflector.New[partial](server, reflector.InMemory(store.New(store.Options[partial]{})), reflector.Options{Initial: reflector.Streaming, Rand: zero})
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

// If none of the initial events can be decoded, that is a failure, as with a list: the status says so, and Fatal is called.
func TestUndecodableInitialEventsAreAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newScripted()
		asked := 0
		r := reflector.New[partial](server, reflector.InMemory(store.New(store.Options[partial]{})), reflector.Options{
			Initial: reflector.Streaming, Rand: zero, Fatal: func(error) bool { asked++; return false },
		})
		stop := running(t, r)
		stream := <-server.streams
		stream.undecodable(source.Added, newPartial("a", "u", "9"))
		stream.events <- source.Event[partial]{Type: source.Bookmark, Meta: source.Meta{ResourceVersion: "10"}, InitialEventsEnd: true}
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
