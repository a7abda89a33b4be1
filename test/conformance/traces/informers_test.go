package traces

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/relist-go/relist/internal/must"
)

// What docs/differences.md says of client-go's informers, where no trace can show it.

// sharedInformer starts an informer, in the bubble of a test, over a list of ConfigMaps and watches
// that send what the test puts into events.
func sharedInformer(t *testing.T, resync time.Duration, handler cache.ResourceEventHandlerFuncs, items ...*corev1.ConfigMap) (
	objects cache.Store, events chan<- watch.Event,
) {
	informer, events, _, _ := endingInformer(t, resync, handler, items...)
	return informer.GetStore(), events
}

// endingInformer is sharedInformer for a test that removes the handler or stops the informer.
func endingInformer(t *testing.T, resync time.Duration, handler cache.ResourceEventHandlerFuncs, items ...*corev1.ConfigMap) (
	informer cache.SharedIndexInformer, events chan<- watch.Event, registration cache.ResourceEventHandlerRegistration, stop func(),
) {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, false)
	stream := make(chan watch.Event)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}}
			for _, item := range items {
				list.Items = append(list.Items, *item.DeepCopy())
			}
			return list, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return watch.NewProxyWatcher(stream), nil
		},
	}
	informer = cache.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, resync, cache.Indexers{})
	registration, err := informer.AddEventHandler(handler)
	must.OK(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { informer.RunWithContext(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
	return informer, stream, registration, cancel
}

// A handler that is busy is told of each update after the other, however old.
func TestHandlerIsToldOfEachUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const updates = 100
		release := make(chan struct{})
		told := 0
		objects, events := sharedInformer(t, 0, cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { <-release },
			UpdateFunc: func(any, any) { told++ },
		}, configMap("a", "1"))
		for i := range updates {
			events <- watch.Event{Type: watch.Modified, Object: configMap("a", fmt.Sprint(11+i))}
		}
		synctest.Wait()
		if obj, ok, _ := objects.GetByKey("default/a"); !ok || obj.(*corev1.ConfigMap).ResourceVersion != "110" {
			t.Errorf("the store has %v, want version 110", obj)
		}
		close(release)
		synctest.Wait()
		if told != updates {
			t.Errorf("the handler was told of %d updates, want %d", told, updates)
		}
	})
}

// An object that a list brings again as it was is an update for a handler.
func TestListedAgainIsAnUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		_, events := sharedInformer(t, 0, cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, obj any) {
			if old.(*corev1.ConfigMap).ResourceVersion == obj.(*corev1.ConfigMap).ResourceVersion {
				told++
			}
		}}, configMap("a", "1"), configMap("b", "2"))
		events <- watch.Event{Type: watch.Error, Object: &metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired}}
		<-time.After(time.Minute)
		synctest.Wait()
		if told != 2 {
			t.Errorf("the handler was told of %d updates to the same version, want 2", told)
		}
	})
}

// A resync offers all objects at one moment.
func TestResyncComesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const objects = 1000
		var items []*corev1.ConfigMap
		for i := range objects {
			items = append(items, configMap(fmt.Sprint(i), "1"))
		}
		at := map[time.Time]int{}
		sharedInformer(t, time.Minute, cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { at[time.Now()]++ }}, items...)
		<-time.After(90 * time.Second)
		synctest.Wait()
		if len(at) != 1 {
			t.Errorf("the objects came at %d moments, want one", len(at))
		}
		for _, n := range at {
			if n != objects {
				t.Errorf("%d objects, want %d", n, objects)
			}
		}
	})
}

// A handler that is removed, or whose informer ends, is not told of what waits for it, and of no
// deletion.
func TestHandlerThatEndsIsToldNothing(t *testing.T) {
	for _, removed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			added, updated, deleted := 0, 0, 0
			informer, events, registration, stop := endingInformer(t, 0, cache.ResourceEventHandlerFuncs{
				AddFunc:    func(any) { added++; <-release },
				UpdateFunc: func(any, any) { updated++ },
				DeleteFunc: func(any) { deleted++ },
			}, configMap("a", "1"))
			for i := range 10 {
				events <- watch.Event{Type: watch.Modified, Object: configMap("a", fmt.Sprint(11+i))}
			}
			synctest.Wait()
			if removed {
				must.OK(t, informer.RemoveEventHandler(registration))
			} else {
				stop()
			}
			synctest.Wait()
			close(release)
			synctest.Wait()
			// One update had left the buffer for a channel.
			if added != 1 || updated > 1 || deleted != 0 {
				t.Errorf("removed: %v: the handler was told of %d additions, %d updates, %d deletions", removed, added, updated, deleted)
			}
		})
	}
}

// A handler of two informers is called by both at the same time.
func TestTwoInformersCallOneHandlerAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var called atomic.Int32
		handler := cache.ResourceEventHandlerFuncs{AddFunc: func(any) { called.Add(1); <-release }}
		sharedInformer(t, 0, handler, configMap("a", "1"))
		sharedInformer(t, 0, handler, configMap("b", "1"))
		if got := called.Load(); got != 2 {
			t.Errorf("%d calls of the handler are running, want 2", got)
		}
		close(release)
	})
}

// A handler behind a filter was told of an object, and is not told that the object was deleted,
// because its final state does not pass.
func TestFilterSeesTheFinalState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		passes := func(obj any) bool {
			c, ok := obj.(*corev1.ConfigMap)
			return ok && c.Labels["app"] == "web"
		}
		added, deleted := 0, 0
		filtered := cache.FilteringResourceEventHandler{FilterFunc: passes, Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { added++ },
			DeleteFunc: func(any) { deleted++ },
		}}
		_, events := sharedInformer(t, 0, cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { filtered.OnAdd(obj, false) },
			UpdateFunc: filtered.OnUpdate,
			DeleteFunc: filtered.OnDelete,
		}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "5", Labels: map[string]string{"app": "web"}}})
		events <- watch.Event{Type: watch.Deleted, Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "11"}}}
		synctest.Wait()
		if added != 1 || deleted != 0 {
			t.Errorf("told of %d additions and %d deletions, want one and none", added, deleted)
		}
	})
}

// Whoever waits for the first list learns of it up to 100 ms later.
func TestWaitForCacheSyncLooksAtTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		synced := func() bool { return time.Since(begin) >= time.Millisecond }
		if !cache.WaitForCacheSync(t.Context().Done(), synced) {
			t.Fatal("not synced")
		}
		if took := time.Since(begin); took != 100*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}

// silentMetrics panics if it is asked for a metric, because it has no provider.
type silentMetrics struct{ cache.MetricsProvider }

// No reflector asks the provider of metrics that a program has set: it would panic.
func TestNoReflectorIsMeasured(t *testing.T) {
	cache.SetReflectorMetricsProvider(silentMetrics{})
	synctest.Test(t, func(t *testing.T) {
		updated := 0
		_, events := sharedInformer(t, 0, cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { updated++ }}, configMap("a", "1"))
		events <- watch.Event{Type: watch.Modified, Object: configMap("a", "11")}
		synctest.Wait()
		if updated != 1 {
			t.Errorf("the handler was told of %d updates, want 1", updated)
		}
	})
}
