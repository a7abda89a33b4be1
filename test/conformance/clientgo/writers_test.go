package clientgo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

const (
	objects = 2000 // at the start, over the namespaces
	writers = 8
	burst   = 300 // writes that count as "some"
)

// Namespaces that a real server has from the start.
var namespaces = []string{"default", "kube-system", "kube-public", "kube-node-lease"}

type key struct{ namespace, name string }

// world is the ConfigMaps of a server, and those who write them.
type world struct {
	client   rest.Interface
	requests *requests

	written  signal
	writes   atomic.Int64
	keys     [writers][]key // each writer has its own
	unseen   []key          // no writer's: for faults to delete
	sequence atomic.Int64   // makes each write differ
}

func newWorld(client rest.Interface, r *requests) *world {
	w := &world{client: client, requests: r}
	for i := range objects {
		k := key{namespaces[i%len(namespaces)], fmt.Sprintf("churn-%04d", i)}
		w.keys[i%writers] = append(w.keys[i%writers], k)
	}
	for i := range 20 {
		w.unseen = append(w.unseen, key{namespaces[i%len(namespaces)], fmt.Sprintf("unseen-%02d", i)})
	}
	return w
}

// reserved takes five objects that no writer touches.
func (w *world) reserved() []key {
	keys := w.unseen[:5]
	w.unseen = w.unseen[5:]
	return keys
}

// fill creates every object.
func (w *world) fill(t *testing.T) {
	var wg sync.WaitGroup
	for i := range writers {
		keys := w.keys[i]
		if i == 0 {
			keys = append(keys[:len(keys):len(keys)], w.unseen...)
		}
		wg.Go(func() {
			for _, k := range keys {
				if err := w.create(t.Context(), k); err != nil {
					t.Errorf("create %v: %v", k, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// churn has the writers at work while during runs, and stops them after. No
// request is in progress when it returns: one that was cut short could still
// be carried out by the server later, after somebody looked at what it has.
func (w *world) churn(t *testing.T, during func()) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range writers {
		dice := rand.New(rand.NewPCG(uint64(i), uint64(w.writes.Load())))
		wg.Go(func() { w.write(t, stop, w.keys[i], dice) })
	}
	defer wg.Wait()
	defer close(stop)
	w.someWrites(t)
	during()
	w.someWrites(t)
}

// someWrites waits until the writers have done some more.
func (w *world) someWrites(t *testing.T) {
	t.Helper()
	goal := w.writes.Load() + burst
	if !w.written.await(t, func() bool { return w.writes.Load() >= goal }) {
		t.Fatalf("the writers did not do %d writes within %v", burst, patience)
	}
}

// write changes random objects until it is told to stop. A write that the server did not
// answer may have happened or not: what counts in the end is what the server has.
func (w *world) write(t *testing.T, stop <-chan struct{}, keys []key, dice *rand.Rand) {
	ctx := t.Context()
	for {
		select {
		case <-stop:
			return
		default:
		}
		k := keys[dice.IntN(len(keys))]
		var err error
		switch n := dice.IntN(100); {
		case n < 45:
			err = w.update(ctx, k)
		case n < 65:
			err = w.patch(ctx, k)
		case n < 80:
			err = w.delete(ctx, k)
		default:
			err = w.create(ctx, k)
		}
		switch {
		case err == nil:
			w.writes.Add(1)
			w.written.notify()
		case apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
		case isClientError(err):
			t.Errorf("write %v: %v", k, err)
			return
		default:
			select { // the server is down
			case <-stop:
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}

// isClientError reports whether the server found fault with the request, which is a fault of the server or the test.
func isClientError(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 500 && !apierrors.IsTooManyRequests(err)
}

func (w *world) create(ctx context.Context, k key) error {
	return w.client.Post().Namespace(k.namespace).Resource("configmaps").Body(w.configMap(k)).Do(ctx).Error()
}

func (w *world) update(ctx context.Context, k key) error {
	return w.client.Put().Namespace(k.namespace).Resource("configmaps").Name(k.name).Body(w.configMap(k)).Do(ctx).Error()
}

func (w *world) patch(ctx context.Context, k key) error {
	body := fmt.Appendf(nil, `{"data":{"patched":"%d"}}`, w.sequence.Add(1))
	return w.client.Patch(types.MergePatchType).Namespace(k.namespace).Resource("configmaps").Name(k.name).Body(body).Do(ctx).Error()
}

func (w *world) delete(ctx context.Context, k key) error {
	return w.client.Delete().Namespace(k.namespace).Resource("configmaps").Name(k.name).Do(ctx).Error()
}

// configMap returns a new state of an object. Its label changes with it, so that it enters and leaves selectors.
func (w *world) configMap(k key) *corev1.ConfigMap {
	n := w.sequence.Add(1)
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: k.namespace, Name: k.name,
			Labels: map[string]string{"parity": []string{"even", "odd"}[n%2]},
		},
		Data: map[string]string{"sequence": fmt.Sprint(n)},
	}
}
