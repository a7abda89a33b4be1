package controller_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
)

// rig is a controller that runs in a synctest bubble. Its Reconcile writes down the keys.
type rig struct {
	t       *testing.T
	stop    context.CancelFunc
	ended   chan error
	queue   *controller.Queue[string]
	stopped bool
	level   slog.LevelVar // of the log

	mu   sync.Mutex
	keys []string
	log  bytes.Buffer
	told []controller.Reconciled

	// does, if it is not nil, is what Reconcile does and returns.
	does func(ctx context.Context, key string) (time.Duration, error)
}

func cache(f *fake) *informer.Informer[*thing] {
	return informer.New(f, informer.Options[*thing]{Reflector: reflector.Options{Rand: func() float64 { return 0 }}})
}

// run starts a controller, which runs until the test ends. The one that was started last ends
// first, because an informer that several of them share ends with the first.
func run(t *testing.T, workers int, does func(ctx context.Context, key string) (time.Duration, error), sources ...controller.Source) *rig {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	r := &rig{
		t: t, stop: stop, ended: make(chan error, 1), does: does,
		queue: controller.NewQueue[string](controller.QueueOptions{Rand: func() float64 { return 0 }}),
	}
	opts := controller.Options{
		Workers: workers, Queue: r.queue, Logger: slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{Level: &r.level})),
		OnReconciled: func(d controller.Reconciled) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.told = append(r.told, d)
		},
	}
	go func() { r.ended <- controller.Run(ctx, r.reconcile, opts, sources...) }()
	t.Cleanup(func() {
		stop()
		if err := <-r.ended; !r.stopped && !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	})
	synctest.Wait()
	return r
}

// result waits for the end of Run.
func (r *rig) result() error {
	err := <-r.ended
	r.stopped = true
	r.ended <- err
	return err
}

func (r *rig) reconcile(ctx context.Context, key string) (time.Duration, error) {
	r.mu.Lock()
	r.keys = append(r.keys, key)
	does := r.does
	r.mu.Unlock()
	if does == nil {
		return 0, nil
	}
	return does(ctx, key)
}

// becomes changes what Reconcile does.
func (r *rig) becomes(does func(ctx context.Context, key string) (time.Duration, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.does = does
}

// returning is a Reconcile that returns this.
func returning(after time.Duration, err error) func(context.Context, string) (time.Duration, error) {
	return func(context.Context, string) (time.Duration, error) { return after, err }
}

// Write is for the logger.
func (r *rig) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(line)
}

// expect compares the keys that were reconciled since the last time with what is right, which may
// be one of several.
func (r *rig) expect(want ...string) {
	r.t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := strings.Join(r.keys, " "); !slices.Contains(want, got) {
		r.t.Errorf("reconciled %q, want one of %q", got, want)
	}
	r.keys = nil
}

// logged returns the log since the last time.
func (r *rig) logged() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.log.Reset()
	return r.log.String()
}

func (r *rig) last() controller.Reconciled {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told[len(r.told)-1]
}

func TestOwnKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("ns/a", "ns/b", "node")
		r := run(t, 0, nil, controller.For(cache(f)))
		r.expect("node ns/a ns/b")
		f.set("ns/a", func(*thing) {})
		r.expect("ns/a")
		f.set("ns/c", func(*thing) {})
		r.expect("ns/c")
		f.Remove("ns/a")
		r.expect("ns/a")
		f.unseen("ns/b")
		later(time.Minute)
		r.expect("ns/b")
	})
}

func TestKeysOfOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("ns/a")
		f.set("ns/a", shop("x"))
		r := run(t, 0, nil, controller.Owns(cache(f), object.Type{Group: "example.com", Kind: "Shop"}))
		r.expect("ns/x")
		f.set("ns/a", shop("y")) // from one owner to another
		r.expect("ns/x ns/y")
		f.set("ns/b", shop("x"))
		r.expect("ns/x")
		f.Remove("ns/b")
		r.expect("ns/x")
		f.unseen("ns/a")
		later(time.Minute)
		r.expect("ns/y")
		f.set("ns/c", ownedBy("example.com/v2", "Shop", "z")) // the version does not count
		r.expect("ns/z")
		f.set("ns/c", ownedBy("other.com/v1", "Shop", "z"))
		r.expect("ns/z") // as it was
		f.set("ns/c", ownedBy("example.com/v1", "House", "z"))
		f.set("ns/c", ownedBy("a/b/c", "Shop", "z"))
		f.set("ns/c", func(obj *thing) { obj.OwnerReferences = nil })
		r.expect("")
	})
	synctest.Test(t, func(t *testing.T) { // of one without a namespace
		f := newFake("ns/a", "b")
		r := run(t, 0, nil,
			controller.Owns(cache(f), object.Type{Group: "example.com", Kind: "Shop", ClusterScoped: true}))
		f.set("ns/a", shop("x"))
		r.expect("x")
		f.set("b", shop("y"))
		r.expect("y")
	})
	synctest.Test(t, func(t *testing.T) { // of the core group
		f := newFake()
		r := run(t, 0, nil, controller.Owns(cache(f), object.Type{Kind: "Node"}))
		f.set("b", ownedBy("v1", "Node", "y"))
		r.expect("y")
	})
}

func TestKeysOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shops, others := newFake("ns/a", "ns/b"), newFake("o")
		about := func(keys ...string) func(*thing) { return func(obj *thing) { obj.About = keys } }
		others.set("o", about("ns/b", "", "ns/c"))
		r := run(t, 0, nil, controller.For(cache(shops)),
			controller.Watches(cache(others), func(obj *thing) []string { return obj.About }))
		synctest.Wait()
		r.mu.Lock()
		slices.Sort(r.keys) // the informers are not ordered among each other
		r.mu.Unlock()
		r.expect("ns/a ns/b ns/c")
		others.set("o", about("ns/a", "ns/b"))
		r.expect("ns/b ns/c ns/a")
		others.Remove("o")
		r.expect("ns/a ns/b")
	})
}

// An object that comes and goes while the worker is busy is looked at, because the worker may have
// seen it.
func TestCameAndWent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a")
		free := make(chan struct{})
		r := run(t, 0, func(context.Context, string) (time.Duration, error) { <-free; return 0, nil }, controller.For(cache(f)))
		f.set("b", func(*thing) {})
		f.Remove("b")
		r.expect("a")
		close(free)
		r.expect("b")
	})
}

func TestAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a")
		r := run(t, 0, returning(time.Minute, nil), controller.For(cache(f)))
		r.expect("a")
		if got := r.last(); got.Next != time.Minute {
			t.Errorf("told %+v", got)
		}
		later(time.Minute - 1)
		r.expect("")
		later(1)
		r.expect("a")
		later(time.Second)
		r.becomes(nil)
		f.set("a", func(*thing) {})
		r.expect("a")
		later(time.Hour)
		r.expect("") // the latest call counts
	})
}

// Workers work at the same time, and never on one key.
func TestWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "b", "c", "d", "e")
		free := make(chan struct{})
		r := run(t, 3, func(context.Context, string) (time.Duration, error) { <-free; return 0, nil }, controller.For(cache(f)))
		f.set("a", func(*thing) {})
		synctest.Wait()
		if s := r.queue.Stats(); s.Working != 3 || s.Ready != 2 {
			t.Errorf("3 workers, 5 keys: %+v", s)
		}
		close(free)
		synctest.Wait()
		if s := r.queue.Stats(); s.Given != 6 {
			t.Errorf("given %d keys, want 6", s.Given)
		}
	})
}

// The first reconcile begins when all informers have synced, and the log says what is missing.
func TestWaitsForFirstLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shops, others := newFake("a"), newFake("b")
		others.Fail(errors.New("not allowed"))
		r := run(t, 0, nil, controller.For(cache(shops)), controller.For(cache(others)))
		later(15 * time.Second)
		r.expect("")
		want := `level=WARN msg="controller waits for the first list" source=For(*controller_test.thing) error="informer: not synced: `
		if log := r.logged(); !strings.Contains(log, want) || !strings.Contains(log, `: not allowed"`) || strings.Count(log, "\n") != 1 {
			t.Errorf("logged %s, want %s", log, want)
		}
		others.Fail(nil)
		later(time.Minute)
		r.expect("a b")
		r.logged()
		later(time.Minute)
		if log := r.logged(); log != "" {
			t.Errorf("logged %s after all have synced", log)
		}
	})
}

// Keys of the first list wait while there are others.
func TestFirstListIsInitial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "b", "c")
		free := make(chan struct{}, 10)
		r := run(t, 1, func(context.Context, string) (time.Duration, error) { <-free; return 0, nil }, controller.For(cache(f)))
		f.set("c", func(*thing) {})
		synctest.Wait()
		for range 3 {
			free <- struct{}{}
		}
		r.expect("a c b")
	})
}

// The end of ctx ends the context of Reconcile, and Run waits for it. A Reconcile that fails
// because of that is no problem.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "b")
		r := run(t, 1, func(ctx context.Context, _ string) (time.Duration, error) {
			<-ctx.Done()
			<-time.After(time.Minute)
			return 0, ctx.Err()
		}, controller.For(cache(f)))
		began := time.Now()
		r.stop()
		if err := r.result(); !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("Run took %s", took)
		}
		r.expect("a")
		if log := r.logged(); log != "" {
			t.Errorf("logged %s", log)
		}
		r.queue.Add("c") // closed
		if _, err := r.queue.Get(t.Context()); !errors.Is(err, controller.ErrClosed) {
			t.Errorf("Get returned %v", err)
		}
	})
}

// A program that drains its queue stops when its work is done.
func TestDrainEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "b")
		r := run(t, 1, func(context.Context, string) (time.Duration, error) { <-time.After(time.Second); return time.Hour, nil }, controller.For(cache(f)))
		if err := r.queue.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if err := r.result(); !errors.Is(err, controller.ErrClosed) {
			t.Errorf("Run returned %v", err)
		}
		r.expect("a b")
	})
	synctest.Test(t, func(t *testing.T) { // before the first list
		f := newFake("a")
		f.Fail(errors.New("not allowed"))
		r := run(t, 1, nil, controller.For(cache(f)))
		r.queue.Close()
		if err := r.result(); !errors.Is(err, controller.ErrClosed) {
			t.Errorf("Run returned %v", err)
		}
	})
}
