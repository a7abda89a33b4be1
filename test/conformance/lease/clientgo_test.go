package lease

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/relist-go/relist/controller/lease"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/transport"
)

// lead leads until stop is called, and says when it begins.
func lead(t *testing.T, run func(ctx context.Context, leads func())) (leads chan struct{}, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	leads, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx, func() { leads <- struct{}{} })
	}()
	return leads, func() { cancel(); <-ended }
}

// client-go's leader election and ours share a Lease: each waits for the other, and takes what the
// other has released.
func TestSharedWithClientGo(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.Options{})
	ours := func(ctx context.Context, leads func()) {
		client, err := transport.NewClient(c.Access().Config())
		if err != nil {
			t.Error(err)
			return
		}
		defer client.Close()
		l, err := lease.New(client, lease.Options{Namespace: "default", Name: "shared", Duration: duration})
		if err != nil {
			t.Error(err)
			return
		}
		err = l.Lead(ctx, func(ctx context.Context) error { leads(); <-ctx.Done(); return nil })
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	theirs := func(ctx context.Context, leads func()) {
		client, err := kubernetes.NewForConfig(c.Access().ClientGo())
		if err != nil {
			t.Error(err)
			return
		}
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Namespace: "default", Name: "shared"},
				Client:     client.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: "client-go"},
			},
			LeaseDuration: duration, RenewDeadline: 2 * time.Second, RetryPeriod: 500 * time.Millisecond, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { leads() }, OnStoppedLeading: func() {}},
		})
	}
	leads, stop := lead(t, theirs)
	<-leads
	for round, next := range []func(context.Context, func()){ours, theirs} {
		following, stopNext := lead(t, next)
		select {
		case <-following:
			t.Errorf("%d: two lead", round)
		case <-time.After(duration + time.Second):
		}
		stop()
		before := time.Now()
		<-following
		if took := time.Since(before); took > duration*2/3 {
			t.Errorf("%d: what was released was taken after %v", round, took)
		}
		stop = stopNext
	}
	stop()
}
