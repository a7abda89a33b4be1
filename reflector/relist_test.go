package reflector

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/object"
)

func TestRelist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		s := r.synced()
		done := make(chan error, 1)
		go func() { done <- r.Relist(t.Context()) }()
		r.expect(`list "" limit 500 continue ""`)
		if !s.closed {
			t.Error("the watch was left open")
		}
		r.fake.page("20", "a")
		if err := <-done; err != nil {
			t.Error(err)
		}
		r.expect(`watch "20" for 300s`)
	})
}

func TestRelistDuringAListWantsAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		r.expect(`list "0" limit 500 continue ""`)
		done := make(chan error, 2)
		for range 2 {
			go func() { done <- r.Relist(t.Context()) }()
		}
		synctest.Wait()
		r.fake.page("10", "a")
		r.expect(`list "" limit 500 continue ""`)
		select {
		case err := <-done:
			t.Fatalf("Relist returned %v after a list that began before it", err)
		default:
		}
		r.fake.page("11", "a")
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		r.expect(`watch "11" for 300s`)
	})
}

func TestRelistEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		r.expect(`list "0" limit 500 continue ""`)
		r.fake.lists <- listAnswer{err: statusErr(http.StatusForbidden, metav1.StatusReasonForbidden, 3600)}
		r.expect("")
		go func() { _ = r.Relist(t.Context()) }()
		r.expect(`list "" limit 500 continue ""`)
	})
}

// A list that was asked for by nobody, and is answered by a cache, does not do for one
// that was asked for.
func TestRelistOutlivesAFailedList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		r.expect(`list "0" limit 500 continue ""`)
		done := make(chan error, 1)
		go func() { done <- r.Relist(t.Context()) }()
		synctest.Wait()
		r.fake.lists <- listAnswer{err: statusErr(http.StatusInternalServerError, metav1.StatusReasonInternalError, 0)}
		later(time.Second)
		r.expect(`list "" limit 500 continue ""`)
		r.fake.page("10", "a")
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A list that is asked for while initial events are on their way is made, although the sink refuses
// these: their stream is closed, and what it still says is no part of the next.
func TestRelistAfterRefusedInitialEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Initial: Streaming})
		r.expect(`watch "" for 300s`)
		done := make(chan error, 1)
		go func() { done <- r.Relist(t.Context()) }()
		first := r.fake.open()
		first.event(object.Added, "a", "5")
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
		second.event(object.Added, "b", "15")
		second.end("20")
		if err := <-done; err != nil {
			t.Error(err)
		}
		r.told("replace a @10; replace b @20")
	})
}
