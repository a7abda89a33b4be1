package traces

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// An event that a transform refuses is lost: its version is passed, nothing is
// listed again, and the object stays what it was.
func TestSinkRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := logr.Discard()
		queue := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{
			Logger:                &quiet,
			EmitDeltaTypeReplaced: true,
			Transformer: func(obj any) (any, error) {
				if c, ok := obj.(*corev1.ConfigMap); ok && c.ResourceVersion == "110" {
					return nil, errors.New("refused")
				}
				return obj, nil
			},
		})
		queue.Close()
		server := &served{stream: watch.NewFake()}
		r := cache.NewReflectorWithOptions(listWatch{ListWatch: &cache.ListWatch{
			ListWithContextFunc:  server.list,
			WatchFuncWithContext: server.watch,
		}}, &corev1.ConfigMap{}, queue, cache.ReflectorOptions{Logger: &quiet})

		ctx, cancel := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { r.RunWithContext(ctx) })
		server.stream.Modify(configMap("a", "110"))
		server.stream.Add(configMap("b", "111"))
		synctest.Wait()
		if got := r.LastSyncResourceVersion(); got != "111" {
			t.Errorf("the resume point is %s, want 111", got)
		}
		cancel()
		run.Wait()

		var got string
		popAll(t, queue, func(d cache.Deltas) {
			for _, delta := range d {
				got += describe(delta) + " "
			}
		})
		if want := "Replaced@90 Added@111 "; got != want || server.lists != 1 {
			t.Errorf("popped %safter %d lists, want %safter 1", got, server.lists, want)
		}
	})
}

// served is a server with one object and one stream.
type served struct {
	stream *watch.FakeWatcher
	lists  int
}

func (s *served) list(context.Context, metav1.ListOptions) (runtime.Object, error) {
	s.lists++
	return &corev1.ConfigMapList{
		ListMeta: metav1.ListMeta{ResourceVersion: "100"},
		Items:    []corev1.ConfigMap{*configMap("a", "90")},
	}, nil
}

func (s *served) watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return s.stream, nil
}
