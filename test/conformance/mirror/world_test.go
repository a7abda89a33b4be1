package mirror

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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/conformance/cluster"
)

const (
	objects = 1000 // at the start
	writers = 8
	unseen  = outages / 2 * vanished // of the objects, those that no writer touches

	// burst is how many writes count as some.
	burst = 500
)

// namespaces are those that a real server has from the start.
var namespaces = []string{"default", "kube-system", "kube-public", "kube-node-lease"}

// name is a ConfigMap's.
type name struct{ namespace, name string }

// String returns the key.
func (n name) String() string { return n.namespace + "/" + n.name }

// world is the ConfigMaps of a server, and those who write them.
type world struct {
	t      testing.TB
	client kubernetes.Interface
	writes atomic.Int64
	serial atomic.Int64
}

// newWorld connects to the server of config.
func newWorld(t testing.TB, config *rest.Config) *world {
	t.Helper()
	config = rest.CopyConfig(config)
	config.ContentType = "application/json" // protobuf is not for every server here
	client, err := kubernetes.NewForConfig(config)
	must.OK(t, err)
	return &world{t: t, client: client}
}

// unseen returns the name of the n-th object that no writer touches.
func (w *world) unseen(n int) name {
	return name{namespaces[n%len(namespaces)], fmt.Sprintf("unseen-%02d", n)}
}

// nth is the name of an object that a writer has for itself: i modulo writers.
func nth(i int) name {
	return name{namespaces[i%len(namespaces)], fmt.Sprintf("object-%05d", i)}
}

// fill creates all objects.
func (w *world) fill() {
	w.t.Helper()
	var group sync.WaitGroup
	for writer := range writers {
		group.Go(func() {
			for i := writer; i < objects; i += writers {
				n := nth(i)
				if i < unseen {
					n = w.unseen(i)
				}
				if err := w.create(w.t.Context(), n); err != nil {
					w.t.Errorf("create %v: %v", n, err)
					return
				}
			}
		})
	}
	group.Wait()
	if w.t.Failed() {
		w.t.FailNow()
	}
}

// churn has the writers at work until stop is called, which waits for them. What
// the server does not answer is tried again a little later.
func (w *world) churn() (stop func()) {
	quit := make(chan struct{})
	var group sync.WaitGroup
	for writer := range writers {
		dice := rand.New(rand.NewPCG(1, uint64(writer)))
		group.Go(func() {
			for {
				select {
				case <-quit:
					return
				default:
				}
				i := writer + writers*dice.IntN((objects-unseen-writer)/writers)
				w.write(nth(unseen+i), dice.IntN(100), quit)
			}
		})
	}
	return func() {
		close(quit)
		group.Wait()
	}
}

func (w *world) write(n name, choice int, quit <-chan struct{}) {
	ctx := w.t.Context()
	var err error
	switch {
	case choice < 60:
		_, err = w.client.CoreV1().ConfigMaps(n.namespace).Update(ctx, w.configMap(n), metav1.UpdateOptions{})
	case choice < 80:
		err = w.client.CoreV1().ConfigMaps(n.namespace).Delete(ctx, n.name, metav1.DeleteOptions{})
	default:
		err = w.create(ctx, n)
	}
	switch {
	case err == nil:
		w.writes.Add(1)
	case apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
	case errors.Is(err, context.Canceled):
	default: // the server is down, or about to be
		select {
		case <-quit:
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// someWrites waits until the writers have done some more.
func (w *world) someWrites() {
	w.t.Helper()
	goal := w.writes.Load() + burst
	for deadline := time.Now().Add(patience); w.writes.Load() < goal; {
		if time.Now().After(deadline) {
			w.t.Fatalf("the writers did not do %d writes within %v", burst, patience)
		}
		<-time.After(10 * time.Millisecond)
	}
}

func (w *world) create(ctx context.Context, n name) error {
	_, err := w.client.CoreV1().ConfigMaps(n.namespace).Create(ctx, w.configMap(n), metav1.CreateOptions{})
	return err
}

func (w *world) configMap(n name) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: n.name},
		Data:       map[string]string{"serial": fmt.Sprint(w.serial.Add(1))},
	}
}

// state lists what the server holds now.
func (w *world) state() cluster.State {
	w.t.Helper()
	list, err := w.client.CoreV1().ConfigMaps("").List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	state := cluster.State{}
	for i := range list.Items {
		c := &list.Items[i]
		state[c.Namespace+"/"+c.Name] = cluster.Version{UID: string(c.UID), ResourceVersion: c.ResourceVersion}
	}
	return state
}
