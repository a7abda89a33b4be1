package traces

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// What docs/differences.md says of client-go's log: a line for each attempt, and none when it is
// over.
func TestLogHasALineForEachAttempt(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, false)
	// The first of the handlers that TestMain has removed. The other one keeps errors from being
	// too many, with time.Sleep.
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(ctx context.Context, err error, message string, values ...any) {
		klog.FromContext(ctx).Error(err, message, values...)
	}}
	defer func() { utilruntime.ErrorHandlers = nil }()
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		var attempts, lines atomic.Int32
		lw := &cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				if away.Load() {
					attempts.Add(1)
					return nil, errors.New("connect: no route to host")
				}
				return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}}, nil
			},
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return watch.NewProxyWatcher(make(chan watch.Event)), nil
			},
		}
		away.Store(true)
		informer := cache.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, cache.Indexers{})
		logger := funcr.New(func(_, _ string) { lines.Add(1) }, funcr.Options{})
		ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logger))
		done := make(chan struct{})
		go func() { informer.RunWithContext(ctx); close(done) }()
		defer func() { cancel(); <-done }()
		<-time.After(time.Hour)
		synctest.Wait()
		if attempts, lines := attempts.Load(), lines.Load(); attempts < 60 || lines < attempts {
			t.Errorf("%d lines of %d attempts in an hour, want one of each", lines, attempts)
		}
		away.Store(false)
		before := lines.Load()
		<-time.After(time.Minute)
		synctest.Wait()
		if !informer.HasSynced() || lines.Load() != before {
			t.Errorf("synced %v, and %d more lines, want none", informer.HasSynced(), lines.Load()-before)
		}
		t.Logf("%d attempts, %d lines", attempts.Load(), before)
	})
}
