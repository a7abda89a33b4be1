package traces

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/relist-go/relist/internal/must"
)

// What docs/differences.md says of client-go's queue, where no trace can show it.

func configMap(name, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version}}
}

// popAll empties a closed queue.
func popAll(t *testing.T, queue *cache.DeltaFIFO, process func(cache.Deltas)) {
	t.Helper()
	for {
		_, err := queue.Pop(func(item any, _ bool) error {
			deltas, ok := item.(cache.Deltas)
			if !ok {
				t.Fatalf("popped %T", item)
			}
			process(deltas)
			return nil
		})
		if errors.Is(err, cache.ErrFIFOClosed) {
			return
		}
		must.OK(t, err)
	}
}

// Inferred deletions are of another type than objects, and in no order.
func TestTombstones(t *testing.T) {
	known := cache.NewStore(cache.MetaNamespaceKeyFunc)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		must.OK(t, known.Add(configMap(name, "1")))
	}
	inOrder := 0
	const runs = 20
	for range runs {
		queue := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KnownObjects: known, EmitDeltaTypeReplaced: true})
		queue.Close()
		must.OK(t, queue.Replace(nil, "2"))
		var keys []string
		popAll(t, queue, func(d cache.Deltas) {
			tombstone, ok := d[0].Object.(cache.DeletedFinalStateUnknown)
			if !ok {
				t.Fatalf("a deletion of %T", d[0].Object)
			}
			keys = append(keys, tombstone.Key)
		})
		if len(keys) != 8 {
			t.Fatalf("%d deletions, want 8", len(keys))
		}
		if slices.IsSorted(keys) {
			inOrder++
		}
	}
	if inOrder == runs {
		t.Error("the deletions came in order every time")
	}
}

// The queue has synced before the last entry is processed.
func TestSyncedBeforeProcessed(t *testing.T) {
	queue := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{EmitDeltaTypeReplaced: true})
	queue.Close()
	must.OK(t, queue.Replace([]any{configMap("a", "1")}, "1"))
	popAll(t, queue, func(cache.Deltas) {
		select {
		case <-queue.Done():
		default:
			t.Error("it has not synced while the entry is processed")
		}
	})
}

// Who processes an entry keeps the producer waiting.
func TestLockedWhileProcessing(t *testing.T) {
	queue := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{EmitDeltaTypeReplaced: true})
	queue.Close()
	must.OK(t, queue.Add(configMap("a", "1")))
	var (
		producer sync.WaitGroup
		added    = make(chan error, 1)
		once     sync.Once
	)
	popAll(t, queue, func(cache.Deltas) {
		once.Do(func() {
			producer.Go(func() { added <- queue.Add(configMap("b", "2")) })
			for range 1000 {
				runtime.Gosched()
			}
			select {
			case err := <-added:
				t.Errorf("Add did not wait (error %v)", err)
			default:
			}
		})
	})
	producer.Wait()
}

// An event before the first list makes the queue synced, with nothing of the list.
func TestEventBeforeTheFirstListSyncs(t *testing.T) {
	queue := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{EmitDeltaTypeReplaced: true})
	must.OK(t, queue.Add(configMap("a", "1")))
	if !queue.HasSynced() {
		t.Error("the queue has not synced")
	}
}

// What is added to a closed queue is taken, and nobody is told.
func TestClosedQueueTakesMore(t *testing.T) {
	queue := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{EmitDeltaTypeReplaced: true})
	queue.Close()
	if err := queue.Add(configMap("a", "1")); err != nil {
		t.Errorf("a closed queue refuses an object: %v", err)
	}
	taken := 0
	popAll(t, queue, func(cache.Deltas) { taken++ })
	if taken != 1 {
		t.Errorf("%d entries, want 1", taken)
	}
}
