package reflector

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/object"
)

func TestStopInInitialEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Initial: Streaming})
		r.expect(`watch "" for 300s`)
		s := r.fake.open()
		s.event(object.Added, "a", "5")
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
		if err := r.Run(t.Context()); !errors.Is(err, errRunning) {
			t.Errorf("second Run returned %v, want errRunning", err)
		}
	})
}

func TestFatal(t *testing.T) {
	forbidden := statusErr(http.StatusForbidden, metav1.StatusReasonForbidden, 0)
	synctest.Test(t, func(t *testing.T) {
		begin, delays := time.Now(), 0
		r := newRig(t, Options{Fatal: func(err error) bool {
			var outage *OutageError
			return errors.As(err, &outage) && time.Since(outage.Since) > 2*time.Second
		}, Trace: &Trace{Backoff: func(Backoff) { delays++ }}})
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
		if delays != 3 {
			t.Errorf("%d delays were told; there are 3, and the end of Run", delays)
		}
		if got := r.Status().State; got != Stopped {
			t.Errorf("the state is %v", got)
		}
	})
}
