package informer_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// configMap has the metadata of a ConfigMap.
type configMap struct {
	metav1.ObjectMeta `json:"metadata"`
}

// pooled is a pool that runs against a server, which counts the watches.
type pooled struct {
	*informer.Pool
	t       *testing.T
	server  *apitest.Server
	client  *transport.Client
	watches atomic.Int32
}

func newPooled(t *testing.T, opts informer.PoolOptions) *pooled {
	t.Helper()
	opts.Logger = silent
	p := &pooled{Pool: informer.NewPool(opts), t: t}
	p.server = apitest.New(apitest.Options{Log: func(r apitest.LoggedRequest) {
		if r.Began {
			p.watches.Add(1)
		}
	}})
	t.Cleanup(func() { _ = p.server.Close() })
	listener, err := p.server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if p.client, err = transport.NewClient(transport.Config{Server: listener.URL}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.client.Close)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run of the pool returned %v, want %v", err, context.Canceled)
		}
	})
	return p
}

// configMaps leases the ConfigMaps that opts choose.
func (p *pooled) configMaps(opts listwatch.Options[*configMap]) *informer.Leased[*configMap] {
	p.t.Helper()
	resource, err := listwatch.New(p.client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, opts)
	if err != nil {
		p.t.Fatal(err)
	}
	leased, err := informer.Lease(p.Pool, resource)
	if err != nil {
		p.t.Fatal(err)
	}
	return leased
}

func (p *pooled) create(name string) (version string) {
	p.t.Helper()
	version, err := p.server.Create("configmaps", map[string]any{"metadata": map[string]any{"name": name, "namespace": "shop"}})
	if err != nil {
		p.t.Fatal(err)
	}
	return version
}

func (p *pooled) wants(leases map[string]int) {
	p.t.Helper()
	if got := p.Leases(); !maps.Equal(got, leases) {
		p.t.Errorf("the pool has the leases %v, want %v", got, leases)
	}
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestPoolSharesOneWatch(t *testing.T) {
	p := newPooled(t, informer.PoolOptions{})
	one := p.configMaps(listwatch.Options[*configMap]{Namespace: "shop", LabelSelector: "a=b,c=d", Drop: []string{"x", "y"}})
	two := p.configMaps(listwatch.Options[*configMap]{Namespace: "shop", LabelSelector: "c=d,a=b", Drop: []string{"y", "x"}})
	if one.Informer != two.Informer {
		t.Error("two leases of the same ConfigMaps have two informers")
	}
	other := p.configMaps(listwatch.Options[*configMap]{Namespace: "shop", LabelSelector: "c=d,a=b"})
	transformed := listwatch.Options[*configMap]{Namespace: "shop", Transform: func(obj *configMap) (*configMap, error) { return obj, nil }}
	p.configMaps(transformed)
	p.configMaps(transformed)
	if err := p.WaitForSync(soon(t)); err != nil {
		t.Fatal(err)
	}
	p.wants(map[string]int{
		"configmaps in shop, labels a=b,c=d":    2,
		"configmaps in shop, labels a=b,c=d #2": 1,
		"configmaps in shop":                    1,
		"configmaps in shop #2":                 1,
	})
	if one.Informer == other.Informer {
		t.Error("a lease without Drop shares an informer with one that has it")
	}
	if err := one.Run(soon(t)); !errors.Is(err, informer.ErrStarted) {
		t.Errorf("Run of a lease returned %v, want %v", err, informer.ErrStarted)
	}
}

func TestPoolCountsLeases(t *testing.T) {
	p := newPooled(t, informer.PoolOptions{})
	one, two := p.configMaps(listwatch.Options[*configMap]{}), p.configMaps(listwatch.Options[*configMap]{})
	told := func(l *informer.Leased[*configMap]) chan string {
		names := make(chan string, 10)
		if _, err := l.AddHandler(informer.Handler[*configMap]{OnAdd: func(obj *configMap, _ bool) { names <- obj.Name }}); err != nil {
			t.Fatal(err)
		}
		return names
	}
	first, second := told(one), told(two)
	p.create("a")
	if <-first != "a" || <-second != "a" {
		t.Error("the handlers of both leases are not told of a")
	}
	if err := one.Release(soon(t)); err != nil {
		t.Fatal(err)
	}
	p.create("b")
	if <-second != "b" || len(first) != 0 {
		t.Errorf("after the first lease was released, its handler was told of %d objects", len(first))
	}
	if _, err := one.AddHandler(informer.Handler[*configMap]{}); !errors.Is(err, informer.ErrStopped) {
		t.Errorf("AddHandler after Release returned %v, want %v", err, informer.ErrStopped)
	}
	if err := one.Release(soon(t)); err != nil {
		t.Errorf("a second Release returned %v", err)
	}
	p.wants(map[string]int{"configmaps": 1})
	if err := two.Release(soon(t)); err != nil {
		t.Fatal(err)
	}
	p.wants(map[string]int{})
	if _, err := two.Informer.AddHandler(informer.Handler[*configMap]{}); !errors.Is(err, informer.ErrStopped) {
		t.Errorf("after the last Release, the informer still runs: %v", err)
	}
	again := p.configMaps(listwatch.Options[*configMap]{})
	if err := again.WaitFor(soon(t), p.create("c")); err != nil || again.Store().Len() != 3 {
		t.Errorf("leased again, the store has %d objects, want 3 (%v)", again.Store().Len(), err)
	}
	if err := again.WaitFor(soon(t), p.create("d")); err != nil { // this one comes by the watch, because c was there before
		t.Fatal(err)
	}
	if n := p.watches.Load(); n != 2 {
		t.Errorf("the server answered %d watches, want 2", n)
	}
}

// TestPoolReplacesAnInformerThatEnded shows that the parts of a program can go on when the server has refused one resource.
func TestPoolReplacesAnInformerThatEnded(t *testing.T) {
	ended := make(chan string, 1)
	opts := informer.PoolOptions{Ended: func(name string, err error) {
		if apierrors.IsForbidden(err) {
			ended <- name
		}
	}}
	opts.Reflector.Fatal = apierrors.IsForbidden
	p := newPooled(t, opts)
	if err := p.server.FailNext(apitest.Failure{Status: http.StatusForbidden}); err != nil {
		t.Fatal(err)
	}
	refused := p.configMaps(listwatch.Options[*configMap]{})
	if name := <-ended; name != "configmaps" {
		t.Errorf("%q has ended, want configmaps", name)
	}
	p.wants(map[string]int{})
	next := p.configMaps(listwatch.Options[*configMap]{})
	if err := next.WaitForSync(soon(t)); err != nil {
		t.Fatal(err)
	}
	if err := refused.Release(soon(t)); err != nil {
		t.Fatal(err)
	}
	p.wants(map[string]int{"configmaps": 1})
}

// idle is a pool that does not run, and a resource of a server that is never asked.
func idle(t *testing.T, opts informer.PoolOptions) (*informer.Pool, *listwatch.Resource[*configMap]) {
	t.Helper()
	opts.Logger = silent
	client, err := transport.NewClient(transport.Config{Server: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	resource, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*configMap]{})
	if err != nil {
		t.Fatal(err)
	}
	return informer.NewPool(opts), resource
}

// A lease that is given back before the pool runs keeps nobody waiting.
func TestPoolReleaseBeforeRun(t *testing.T) {
	pool, resource := idle(t, informer.PoolOptions{})
	leased, err := informer.Lease(pool, resource)
	if err != nil {
		t.Fatal(err)
	}
	waiting := inBackground(func() error { return leased.WaitForSync(t.Context()) })
	if err := leased.Release(soon(t)); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; !errors.Is(err, informer.ErrStopped) {
		t.Errorf("WaitForSync returned %v, want %v", err, informer.ErrStopped)
	}
	again, err := informer.Lease(pool, resource)
	if err != nil || again.Informer == leased.Informer {
		t.Errorf("leased again: the same informer %v, error %v", again.Informer == leased.Informer, err)
	}
}

// The function of PoolOptions.Trace may look at the pool.
func TestPoolTraceLooksAtThePool(t *testing.T) {
	var pool *informer.Pool
	var resource *listwatch.Resource[*configMap]
	pool, resource = idle(t, informer.PoolOptions{Trace: func(string) *reflector.Trace {
		pool.Leases()
		return nil
	}})
	leasing := inBackground(func() error {
		_, err := informer.Lease(pool, resource)
		return err
	})
	select {
	case err := <-leasing:
		if err != nil {
			t.Error(err)
		}
	case <-soon(t).Done():
		t.Fatal("Lease waits for itself")
	}
}

// An informer that is about to end is not leased again. Its methods return ErrStopped already, although its Run goes on.
func TestPoolLeavesAnInformerThatIsEnding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := map[string]chan struct{}{"configmaps": make(chan struct{}), "configmaps #2": make(chan struct{})}
		pool, resource := idle(t, informer.PoolOptions{Trace: func(name string) *reflector.Trace {
			return &reflector.Trace{ListStart: func(reflector.ListStart) { <-release[name] }} // nothing is sent before
		}})
		lease := func() *informer.Leased[*configMap] {
			leased, err := informer.Lease(pool, resource)
			if err != nil {
				t.Fatal(err)
			}
			return leased
		}
		first := lease()
		ctx, cancel := context.WithCancel(t.Context())
		running := inBackground(func() error { return pool.Run(ctx) })
		synctest.Wait() // it is about to list, and waits for the trace
		stopping := inBackground(func() error { return first.Stop(t.Context()) })
		synctest.Wait()
		if _, err := first.AddHandler(informer.Handler[*configMap]{}); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("AddHandler returned %v", err)
		}
		second := lease()
		if _, err := second.AddHandler(informer.Handler[*configMap]{}); err != nil || second.Informer == first.Informer {
			t.Errorf("the next Lease has returned the same informer: %v; its AddHandler: %v", second.Informer == first.Informer, err)
		}
		if leases := pool.Leases(); !maps.Equal(leases, map[string]int{"configmaps #2": 1}) {
			t.Errorf("the pool has the leases %v", leases)
		}
		close(release["configmaps"])
		if err := <-stopping; err != nil {
			t.Errorf("Stop returned %v", err)
		}
		cancel()
		close(release["configmaps #2"])
		if err := <-running; !errors.Is(err, context.Canceled) {
			t.Errorf("Run of the pool returned %v", err)
		}
	})
}

// An informer that has ended keeps its name until its callbacks have returned. Those that come after it have others.
func TestPoolNamesOfInformersThatAreEnding(t *testing.T) {
	ended := make(chan string, 10)
	p := newPooled(t, informer.PoolOptions{Ended: func(name string, _ error) { ended <- name }})
	p.create("a")
	release := make(chan struct{})
	for range 3 {
		leased := p.configMaps(listwatch.Options[*configMap]{})
		busy := make(chan struct{})
		for _, callback := range []func(*configMap, bool){
			func(*configMap, bool) { close(busy); <-release },
			func(*configMap, bool) { <-busy; panic("no") },
		} {
			if _, err := leased.AddHandler(informer.Handler[*configMap]{OnAdd: callback}); err != nil {
				t.Fatal(err)
			}
		}
		if err := leased.WaitFor(soon(t), "1000000"); !errors.Is(err, informer.ErrStopped) {
			t.Fatalf("WaitFor returned %v", err)
		}
	}
	last := p.configMaps(listwatch.Options[*configMap]{})
	close(release)
	for range 3 {
		<-ended
	}
	if err := last.WaitForSync(soon(t)); err != nil {
		t.Error(err)
	}
	p.wants(map[string]int{"configmaps #4": 1})
}

// Leases that come and go at the same time, of an informer that ends with a panic now and then.
func TestPoolUnderLoad(t *testing.T) {
	p := newPooled(t, informer.PoolOptions{Ended: func(string, error) {}})
	p.create("a")
	resource := p.configMaps(listwatch.Options[*configMap]{})
	var users sync.WaitGroup
	for i := range 8 {
		users.Go(func() {
			for j := range 10 {
				leased := p.configMaps(listwatch.Options[*configMap]{})
				_, err := leased.AddHandler(informer.Handler[*configMap]{OnAdd: func(*configMap, bool) {
					if (i+j)%4 == 0 {
						panic("no")
					}
				}})
				if err == nil && j%2 == 0 {
					err = leased.WaitForSync(soon(t))
				}
				if err != nil && !errors.Is(err, informer.ErrStopped) {
					t.Error(err)
				}
				if err := leased.Release(soon(t)); err != nil {
					t.Errorf("Release returned %v", err)
				}
			}
		})
	}
	users.Wait()
	if err := resource.Release(soon(t)); err != nil {
		t.Error(err)
	}
	p.wants(map[string]int{})
	if err := p.configMaps(listwatch.Options[*configMap]{}).WaitForSync(soon(t)); err != nil {
		t.Error(err)
	}
	p.wants(map[string]int{"configmaps": 1})
}
