package controller_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/controller/writer"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

type configMap struct {
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data,omitempty"`
}

// counter is a controller whose Reconcile adds one to the number that it finds in a cache, twice a
// second. It writes without a condition, so a number that is written twice was read from an
// old state.
type counter struct {
	*rig
	server *apitest.Server
	store  informer.Reader[*configMap]
	state  sync.Mutex // of what follows
	calls  int
	last   int  // what was written last
	lost   bool // by a restored backup, since
	blind  bool // the cache has nothing
}

func (c *counter) count(writes *writer.Writer[*configMap]) func(ctx context.Context, key string) (time.Duration, error) {
	return func(ctx context.Context, key string) (time.Duration, error) {
		c.state.Lock()
		defer c.state.Unlock()
		c.calls++
		if key != "a/counter" {
			return 0, nil
		}
		n := 0
		if has, exists := c.store.Get(key); exists {
			n, _ = strconv.Atoi(has.Data["n"])
		}
		if n != c.last && !c.lost && !c.blind {
			c.t.Errorf("it reads %d after it has written %d", n, c.last)
		}
		c.last, c.lost = n+1, false
		_, err := writes.MergePatch(ctx, key, map[string]any{"data": map[string]any{"n": strconv.Itoa(c.last)}})
		return 500 * time.Millisecond, err
	}
}

// called returns how often Reconcile was called.
func (c *counter) called() int {
	c.state.Lock()
	defer c.state.Unlock()
	return c.calls
}

// newCounter starts a counter whose cache may be one of several namespaces.
func newCounter(t *testing.T, several bool, before func(*apitest.Server), opts listwatch.Options[*configMap]) *counter {
	c := &counter{blind: opts.LabelSelector+opts.FieldSelector != ""}
	var listener *apitest.Listener
	c.server, listener = apitest.StartInMemory(t, apitest.Options{})
	if _, err := c.server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "a", "name": "counter"}}); err != nil {
		t.Fatal(err)
	}
	if before != nil {
		before(c.server)
	}
	client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial})
	must.OK(t, err)
	t.Cleanup(client.Close)
	typ := object.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}
	writes, err := writer.New[*configMap](client, typ, writer.Options{})
	must.OK(t, err)
	open := func(namespace string) (source.ListWatcher[*configMap], error) {
		opts.Namespace = namespace
		return listwatch.New(client, typ.GroupVersionResource(), opts)
	}
	quiet := informer.Options[*configMap]{Logger: slog.New(slog.DiscardHandler)}
	var from controller.Source
	none := func(*configMap) []string { return nil } // its own writes would bring the key back at once
	if several {
		m := informer.NewMultiNamespace(open, quiet)
		must.OK(t, errors.Join(m.Add("a"), m.Add("b")))
		from, c.store = controller.Watches(m, none), m.Store()
	} else {
		lw, err := open("")
		must.OK(t, err)
		in := informer.New(lw, quiet)
		from, c.store = controller.Watches(in, none), in.Store()
	}
	c.rig = &rig{t: t}
	c.rig = run(t, 1, c.count(writes), from)
	c.queue.Add("a/counter")
	return c
}

// A call reads what the call before has written, whatever becomes of the watch.
func TestOwnWrites(t *testing.T) {
	minutes := 2
	if testing.Short() {
		minutes = 1
	}
	for name, fault := range map[string]func(t *testing.T, c *counter){
		"no fault": func(*testing.T, *counter) {},
		"a watch that lags": func(t *testing.T, c *counter) {
			c.server.Stall()
			later(25 * time.Second)
			s := c.queue.Stats()
			if s.Held != 1 || s.Working != 0 || s.Longest != 0 || s.Unfinished != 0 {
				t.Errorf("while the key waits: %+v", s)
			}
			want := `level=WARN msg="relist: reconcile waits for a cache" key=a/counter cache=`
			if log := c.logged(); strings.Count(log, want) != 1 {
				t.Errorf("logged %s, want %s", log, want)
			}
			before := c.called()
			c.queue.Add("a/other")
			synctest.Wait()
			if n := c.called() - before; n != 1 {
				t.Errorf("another key was given %d times", n)
			}
			if err := c.server.Resume(); err != nil {
				t.Error(err)
			}
		},
		"a list after the watch": func(t *testing.T, c *counter) {
			if err := c.server.FailNext(apitest.Failure{Verb: "watch", For: 5 * time.Second, Status: http.StatusServiceUnavailable}); err != nil {
				t.Error(err)
			}
			c.server.EndWatches()
			c.server.Compact()
		},
		"a restored backup": restored(apitest.Restore{}),
		"a restored backup and connections that are kept": restored(apitest.Restore{KeepConnections: true}),
	} {
		for _, several := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newCounter(t, several, nil, listwatch.Options[*configMap]{})
					for range minutes {
						later(3 * time.Second)
						fault(t, c)
						later(time.Minute)
					}
					if n := c.called(); n < 75*minutes {
						t.Errorf("%d calls in %d minutes", n, minutes)
					}
				})
			})
		}
	}
}

// The end of a long wait is told when it comes, and not with the next call.
func TestLongWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t, false, nil, listwatch.Options[*configMap]{})
		does := c.does
		c.becomes(func(ctx context.Context, key string) (time.Duration, error) {
			_, err := does(ctx, key)
			return 0, err
		})
		later(time.Second)
		c.server.Stall()
		c.queue.Add("a/counter")
		later(25 * time.Second)
		must.OK(t, c.server.Resume())
		synctest.Wait()
		log := c.logged() // neither says what there was not
		if !strings.Contains(log, `msg="relist: reconcile waits for a cache" key=a/counter cache=configmaps`+"\n") ||
			!strings.Contains(log, `msg="relist: reconcile recovered" key=a/counter after=15s`+"\n") {
			t.Error(log)
		}
	})
}

// restored takes the server back by five seconds.
func restored(x apitest.Restore) func(t *testing.T, c *counter) {
	return func(t *testing.T, c *counter) {
		_, version, err := c.server.List("configmaps", "")
		must.OK(t, err)
		later(5 * time.Second)
		x.ResourceVersion = version
		c.state.Lock()
		c.lost = true
		c.state.Unlock()
		must.OK(t, c.server.Restore(x))
	}
}

// A program does not begin with the state of an API server that is behind.
func TestBeginsWithThePresent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := newCounter(t, false, func(server *apitest.Server) {
			old := server.Replica("old")
			old.Freeze()
			if _, err := server.Patch("configmaps", "a", "counter", map[string]any{"data": map[string]any{"n": "0"}}); err != nil {
				t.Fatal(err)
			}
			if _, err := server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "a", "name": "other"}}); err != nil {
				t.Fatal(err)
			}
			server.Route(old)
		}, listwatch.Options[*configMap]{})
		for c.called() == 0 {
			later(100 * time.Millisecond)
		}
		if _, exists := c.store.Get("a/other"); !exists {
			t.Error("the first call lacks an object")
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it began after %v", took)
		}
	})
}

// A cache whose selectors exclude the object keeps nobody waiting: for a label, that is known at
// once, and for a field, the server is asked.
func TestOwnWritesThatAreHidden(t *testing.T) {
	for want, opts := range map[int]listwatch.Options[*configMap]{
		20: {LabelSelector: "app=web"},
		10: {FieldSelector: "metadata.name!=counter"}, // every second
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCounter(t, false, nil, opts)
			later(10 * time.Second)
			if n := c.called(); n < want-1 || n > want+1 {
				t.Errorf("%v: %d calls in ten seconds, want %d", opts, n, want)
			}
		})
	}
}

// A key that waits for its write keeps neither Run nor Drain from ending.
func TestOwnWritesAtTheEnd(t *testing.T) {
	for name, end := range map[string]func(c *counter) error{
		"ctx": func(c *counter) error { c.stop(); return context.Canceled },
		"Drain": func(c *counter) error {
			if err := c.queue.Drain(c.t.Context()); err != nil {
				c.t.Error(err)
			}
			return controller.ErrClosed
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCounter(t, false, nil, listwatch.Options[*configMap]{})
				c.server.Stall()
				later(50 * time.Millisecond) // it asks for its next call at 500 ms
				if held := c.queue.Stats().Held; held != 1 {
					t.Errorf("%d keys wait", held)
				}
				began := time.Now()
				want := end(c)
				if err := c.result(); !errors.Is(err, want) {
					t.Errorf("Run returned %v", err)
				}
				if took := time.Since(began); took > 0 {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}
