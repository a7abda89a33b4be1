// Package churn has writers change the ConfigMaps of an API server through its outages,
// and says what the server holds in the end.
package churn

import (
	"cmp"
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
)

// Options of a [World]. Zero is the default.
type Options struct {
	Objects int // at the start; 5000
	Writers int // 20
	Unseen  int // of the objects, those that no writer touches; 50
}

// burst is how many writes count as some.
const burst = 500

// patience bounds every wait for something that must happen. It is only spent when a
// test fails.
const patience = 2 * time.Minute

// namespaces are those that a real server has from the start.
var namespaces = []string{"default", "kube-system", "kube-public", "kube-node-lease"}

// Name is a ConfigMap's.
type Name struct{ Namespace, Name string }

// String returns the key.
func (n Name) String() string { return n.Namespace + "/" + n.Name }

// World is the ConfigMaps of a server, and those who write them.
type World struct {
	t      testing.TB
	client kubernetes.Interface
	opts   Options
	writes atomic.Int64
	serial atomic.Int64
}

// New connects to the server of config.
func New(t testing.TB, config *rest.Config, opts Options) *World {
	t.Helper()
	opts = Options{cmp.Or(opts.Objects, 5000), cmp.Or(opts.Writers, 20), cmp.Or(opts.Unseen, 50)}
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.ContentType = "application/json" // protobuf is not for every server here
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &World{t: t, client: client, opts: opts}
}

// Unseen returns the name of an object that no writer touches: n are Options.Unseen.
func (w *World) Unseen(n int) Name {
	return Name{namespaces[n%len(namespaces)], fmt.Sprintf("unseen-%02d", n)}
}

// nth is the name of an object that a writer has for itself: i modulo writers.
func nth(i int) Name {
	return Name{namespaces[i%len(namespaces)], fmt.Sprintf("object-%05d", i)}
}

// Fill creates all objects.
func (w *World) Fill() {
	w.t.Helper()
	var group sync.WaitGroup
	for writer := range w.opts.Writers {
		group.Go(func() {
			for i := writer; i < w.opts.Objects; i += w.opts.Writers {
				n := nth(i)
				if i < w.opts.Unseen {
					n = w.Unseen(i)
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

// Churn has the writers at work until stop is called, which waits for them. What
// the server does not answer is tried again a little later.
func (w *World) Churn() (stop func()) {
	quit := make(chan struct{})
	var group sync.WaitGroup
	for writer := range w.opts.Writers {
		dice := rand.New(rand.NewPCG(1, uint64(writer)))
		group.Go(func() {
			for {
				select {
				case <-quit:
					return
				default:
				}
				i := writer + w.opts.Writers*dice.IntN((w.opts.Objects-w.opts.Unseen-writer)/w.opts.Writers)
				w.write(nth(w.opts.Unseen+i), dice.IntN(100), quit)
			}
		})
	}
	return func() {
		close(quit)
		group.Wait()
	}
}

func (w *World) write(n Name, choice int, quit <-chan struct{}) {
	ctx := w.t.Context()
	var err error
	switch {
	case choice < 60:
		_, err = w.client.CoreV1().ConfigMaps(n.Namespace).Update(ctx, w.configMap(n), metav1.UpdateOptions{})
	case choice < 80:
		err = w.client.CoreV1().ConfigMaps(n.Namespace).Delete(ctx, n.Name, metav1.DeleteOptions{})
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

// SomeWrites waits until the writers have done some more.
func (w *World) SomeWrites() {
	w.t.Helper()
	goal := w.writes.Load() + burst
	for deadline := time.Now().Add(patience); w.writes.Load() < goal; {
		if time.Now().After(deadline) {
			w.t.Fatalf("the writers did not do %d writes within %v", burst, patience)
		}
		<-time.After(10 * time.Millisecond)
	}
}

func (w *World) create(ctx context.Context, n Name) error {
	_, err := w.client.CoreV1().ConfigMaps(n.Namespace).Create(ctx, w.configMap(n), metav1.CreateOptions{})
	return err
}

func (w *World) configMap(n Name) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: n.Namespace, Name: n.Name},
		Data:       map[string]string{"serial": fmt.Sprint(w.serial.Add(1))},
	}
}

// State lists what the server holds now.
func (w *World) State() State {
	w.t.Helper()
	list, err := w.client.CoreV1().ConfigMaps("").List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	state := State{}
	for i := range list.Items {
		c := &list.Items[i]
		state[c.Namespace+"/"+c.Name] = Version{string(c.UID), c.ResourceVersion}
	}
	return state
}

// Writes returns how many writes were done.
func (w *World) Writes() int64 { return w.writes.Load() }
