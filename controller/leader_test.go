package controller_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist"
	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/controller/lease"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// replica is a process of a controller.
type replica struct {
	t          *testing.T
	leader     *lease.Lease
	configMaps *relist.Resource[*configMap]
	queue      *controller.Queue[string]
	told       []controller.Reconciled
	stop       context.CancelFunc
	ended      chan error

	mu   sync.Mutex
	keys []string
	does func(ctx context.Context, key string) error
}

func newReplica(t *testing.T, listener *apitest.Listener) *replica {
	t.Helper()
	client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial})
	must.OK(t, err)
	t.Cleanup(client.Close)
	r := &replica{t: t, queue: controller.NewQueue[string](controller.QueueOptions{}), ended: make(chan error, 1), does: func(context.Context, string) error { return nil }}
	silent := slog.New(slog.NewTextHandler(io.Discard, nil))
	if r.leader, err = lease.New(client, lease.Options{Namespace: "default", Name: "shops", Logger: silent}); err != nil {
		t.Fatal(err)
	}
	typ := object.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}
	if r.configMaps, err = relist.New(client, typ, relist.Options[*configMap]{}); err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(t.Context())
	go func() {
		r.ended <- controller.Run(ctx, func(ctx context.Context, key string) (time.Duration, error) {
			r.mu.Lock()
			r.keys = append(r.keys, key)
			does := r.does
			r.mu.Unlock()
			return 0, does(ctx, key)
		}, controller.Options{
			Leader: r.leader, Queue: r.queue, Logger: silent,
			OnReconciled: func(d controller.Reconciled) { r.mu.Lock(); defer r.mu.Unlock(); r.told = append(r.told, d) },
		}, controller.For(r.configMaps))
	}()
	synctest.Wait()
	return r
}

func (r *replica) end() {
	r.t.Helper()
	r.stop()
	if err := <-r.ended; !errors.Is(err, context.Canceled) {
		r.t.Errorf("Run returned %v", err)
	}
}

// called returns the keys that reconcile was called for since it was last asked.
func (r *replica) called() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	keys := r.keys
	r.keys = nil
	slices.Sort(keys)
	return keys
}

func set(t *testing.T, server *apitest.Server, name, value string) {
	t.Helper()
	obj := map[string]any{"metadata": map[string]any{"namespace": "default", "name": name}, "data": map[string]any{"v": value}}
	_, err := server.Update("configmaps", obj)
	if err != nil {
		_, err = server.Create("configmaps", obj)
	}
	must.OK(t, err)
}

// One works, and the other keeps its cache. When the first ends, the second looks at every object.
func TestTwoReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		set(t, server, "a", "1")
		first := newReplica(t, listener)
		second := newReplica(t, listener)
		<-time.After(time.Minute)
		set(t, server, "b", "1")
		if got := first.called(); !slices.Equal(got, []string{"default/a", "default/b"}) {
			t.Errorf("the leader was called for %q", got)
		}
		if got, stats := second.called(), second.queue.Stats(); len(got) > 0 || stats.Ready > 0 {
			t.Errorf("the standby was called for %q, and has %+v", got, stats)
		}
		if _, exists := second.configMaps.Store().Get("default/b"); !exists {
			t.Error("the standby's cache does not follow")
		}

		first.end()
		<-time.After(5 * time.Second)
		if got := second.called(); !slices.Equal(got, []string{"default/a", "default/b"}) {
			t.Errorf("the new leader was called for %q", got)
		}
		second.end()
	})
}

// A term begins with what the last leader wrote, even if no watch has brought it yet.
func TestTermReadsNoOldCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		set(t, server, "a", "1")
		first := newReplica(t, listener)
		second := newReplica(t, listener)
		var read string
		second.does = func(_ context.Context, key string) error {
			obj, _ := second.configMaps.Store().Get(key)
			read += obj.Data["v"]
			return nil
		}
		must.OK(t, server.FailNext(apitest.Failure{Verb: "watch", Resource: "configmaps", Status: http.StatusServiceUnavailable, For: time.Hour}))
		server.EndWatches()
		set(t, server, "a", "2")
		first.end()
		<-time.After(10 * time.Second)
		if second.called(); read != "2" {
			t.Errorf("the new leader has read %q", read)
		}
		second.end()
	})
}

// At the end of a term the queue forgets its keys and their failures. A write whose term is over is
// no failure that is logged, and the next term begins when the server is there again.
func TestLostTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		set(t, server, "a", "1")
		r := newReplica(t, listener)
		r.called()
		r.mu.Lock()
		r.does = func(ctx context.Context, _ string) error {
			<-ctx.Done()
			_, err := r.configMaps.MergePatch(ctx, "default/a", map[string]any{"data": map[string]string{"v": "late"}})
			return err
		}
		r.mu.Unlock()
		set(t, server, "a", "2")
		synctest.Wait()
		must.OK(t, server.Refuse(14*time.Second))
		<-time.After(13 * time.Second)
		if stats := r.queue.Stats(); stats.Ready+stats.Delayed+stats.Failing+stats.Working > 0 {
			t.Errorf("after the term the queue has %+v", stats)
		}
		r.mu.Lock()
		last := r.told[len(r.told)-1]
		r.does = func(context.Context, string) error { return nil }
		r.keys = nil
		r.mu.Unlock()
		if !errors.Is(last.Err, context.Canceled) {
			t.Errorf("the write got %v", last.Err)
		}
		<-time.After(30 * time.Second)
		if got := r.called(); !slices.Equal(got, []string{"default/a"}) {
			t.Errorf("the next term was called for %q", got)
		}
		r.end()
	})
}

// A queue that is closed or drained ends a standby and a leader, and the leader gives the lease
// back.
func TestReplicaEndsWithItsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, listener := apitest.StartInMemory(t, apitest.Options{})
		leader, drained, closed, next := newReplica(t, listener), newReplica(t, listener), newReplica(t, listener), newReplica(t, listener)
		if err := drained.queue.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		closed.queue.Close()
		leader.queue.Close()
		for _, r := range []*replica{drained, closed, leader} {
			if err := <-r.ended; !errors.Is(err, controller.ErrClosed) {
				t.Errorf("Run returned %v", err)
			}
		}
		next.queue.Add("own")
		<-time.After(5 * time.Second)
		if got := next.called(); !slices.Equal(got, []string{"own"}) {
			t.Errorf("called for %q", got)
		}
		next.end()
	})
}
