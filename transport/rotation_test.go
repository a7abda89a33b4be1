package transport_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// TestRotation keeps a mirror for a minute in which everything that it was configured
// with is good for about five seconds. Nothing is listed again, and a 401 is answered by
// another try, not by a storm of them.
func TestRotation(t *testing.T) {
	// Watches end after whole seconds, and no rotation comes at one: what happens in one instant has no order.
	const life, rotations = 5*time.Second + 70*time.Millisecond, 12
	for _, kind := range credentials {
		for _, protocol := range []transport.Protocol{transport.ProtocolHTTP1, transport.ProtocolHTTP2} {
			t.Run(string(kind)+" over "+protocol.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					world := newRotatingWorld(t, kind, life)
					network := memnet.New()
					stop := world.serve(network)
					cfg := world.config(rotatingHost)
					cfg.Dial, cfg.Protocol = network.Dial, protocol
					client, err := transport.NewClient(cfg)
					if err != nil {
						t.Fatal(err)
					}
					seen := world.run(t.Context(), client, rotations)
					known := kind == execExpires || kind == authority
					if known && seen.Unauthorized > 0 {
						t.Errorf("%d requests were refused, although it was known beforehand that they would be", seen.Unauthorized)
					}
					client.Close()
					stop()
					if err := world.api.Close(); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

type configMap struct {
	metav1.ObjectMeta `json:"metadata"`
}

// run keeps a mirror of the world's ConfigMaps through a number of rotations, one each
// life, while an object changes all the time. The mirror opens a watch every few
// seconds, so that each rotation meets some. Then it checks what came of it, and returns
// what the server has seen.
func (w *rotatingWorld) run(ctx context.Context, client *transport.Client, rotations int) counts {
	w.t.Helper()
	source, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*configMap]{})
	if err != nil {
		w.t.Fatal(err)
	}
	held := store.New(store.Options[*configMap]{})
	synced := make(chan struct{})
	mirror := reflector.New(source, reflector.InMemory(held), reflector.Options{
		MinWatchTimeout: 2 * time.Second,
		BackoffBase:     -1, // the shorter the pauses, the worse a storm would be
		Trace: &reflector.Trace{
			Synced:  func() { close(synced) },
			Relist:  func(r reflector.Relist) { w.t.Errorf("a relist: %v: %v", r.Reason, r.Err) },
			Problem: func(p reflector.Problem) { w.t.Errorf("a problem: %v", p.Err) },
		},
	})
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = mirror.Run(ctx) // the error of ctx
	}()
	defer func() {
		stop()
		<-ended
	}()

	w.write("first")
	select {
	case <-synced:
	case <-time.After(time.Minute):
		w.t.Fatal("not synced within a minute")
	}
	begun := time.Now()
	for n := 1; n <= rotations; n++ {
		for change := 1; change <= 5; change++ { // until it is time to rotate
			w.wait(begun.Add(time.Duration(n-1)*w.life + time.Duration(change)*w.life/5))
			w.write(fmt.Sprintf("%d-%d", n, change))
		}
		w.rotate()
	}
	w.write("last")
	return w.check(ctx, mirror, held)
}

// wait waits until a moment, as a test of real time has to.
func (w *rotatingWorld) wait(until time.Time) {
	<-time.After(time.Until(until))
}

// write creates an object.
func (w *rotatingWorld) write(name string) {
	w.t.Helper()
	_, err := w.api.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "default", "name": "c-" + name}})
	if err != nil {
		w.t.Fatal(err)
	}
}

// check compares the mirror with the server, once it has come to where that is.
func (w *rotatingWorld) check(ctx context.Context, mirror *reflector.Reflector[*configMap], held *store.Store[*configMap]) counts {
	w.t.Helper()
	items, version, err := w.api.List("configmaps", "default")
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := mirror.WaitForVersion(ctx, version); err != nil {
		w.t.Fatalf("the mirror has not come to %s: %v", version, err)
	}
	want, got := make(map[string]string), make(map[string]string)
	for _, item := range items {
		meta := item["metadata"].(map[string]any)
		want[fmt.Sprint(meta["name"])] = fmt.Sprint(meta["resourceVersion"])
	}
	for _, c := range held.All() {
		got[c.Name] = c.ResourceVersion
	}
	if !maps.Equal(got, want) {
		w.t.Errorf("the mirror holds %d objects, the server %d", len(got), len(want))
	}
	n := w.counts()
	w.t.Logf("%s: %+v", w.kind, n)
	if n.Lists != 1 || n.Unauthorized > n.Rotations || n.Watches < n.Rotations {
		w.t.Errorf("%+v: want one list, at most one 401 for each rotation, and some watches for each", n)
	}
	return n
}
