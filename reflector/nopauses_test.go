package reflector_test

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// A test without pauses, whose server refuses every list at once, still has its clock go on.
func TestWithoutPausesTheClockGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newScripted()
		begin := time.Now()
		server.list = func(metav1.ListOptions) (*listwatch.Page[partial], error) {
			if lists, _, _ := server.count(); lists > 10_000 && time.Since(begin) == 0 {
				panic("10,000 lists in no time")
			}
			return nil, throttled(0)
		}
		r := reflector.New[partial](server, store.New(store.Options[partial]{}), reflector.Options{BackoffBase: -1, Rand: zero})
		stop := running(t, r)
		later(time.Second)
		stop()
	})
}
