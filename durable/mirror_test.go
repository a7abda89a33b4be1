package durable_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// rig is a server and a place.
type rig struct {
	t      *testing.T
	server *apitest.Server
	client *transport.Client
	place  *place
	log    bytes.Buffer

	configs *listwatch.Client[*thing]               // of run
	fail    func(call string) (before, after error) // of the copy of run

	mu       sync.Mutex
	requests []apitest.LoggedRequest // watches that have begun, and others that have ended
	commits  []commit
}

// commit is what a place has seen of a commit.
type commit struct {
	changes []durable.Change[*thing]
	list    bool
	version string
}

func newRig(t *testing.T) *rig { return newRigOf(t, apitest.Options{}) }

// newRigOf makes a rig whose server has options.
func newRigOf(t *testing.T, opts apitest.Options) *rig {
	r := &rig{t: t, place: newPlace()}
	opts.Log = func(req apitest.LoggedRequest) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if req.Began || !strings.Contains(req.URI, "watch=true") {
			r.requests = append(r.requests, req)
		}
	}
	server, listener := apitest.StartInMemory(t, opts)
	client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial})
	must.OK(t, err)
	t.Cleanup(client.Close)
	r.server, r.client = server, client
	r.place.checked = func(_ map[string]row, state durable.State, changes []durable.Change[*thing], list bool) {
		r.commits = append(r.commits, commit{changes, list, state.Point.Version})
	}
	return r
}

// later lets time pass, and then everything be done that is due.
func later(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// refuse makes the server go away for some time.
func (r *rig) refuse(d time.Duration) {
	r.t.Helper()
	if err := r.server.Refuse(d); err != nil {
		r.t.Fatal(err)
	}
}

// create creates an object.
func (r *rig) create(namespace, name string, labels map[string]any) {
	r.t.Helper()
	if _, err := r.server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": namespace, "name": name, "labels": labels}}); err != nil {
		r.t.Fatal(err)
	}
}

// run runs a mirror until everything is quiet.
func (r *rig) run(opts listwatch.Options[*thing], change func(*durable.Options), meanwhile func(*durable.Mirror[*thing])) error {
	r.t.Helper()
	configs, err := listwatch.New(r.client, configMaps, opts)
	if err != nil {
		r.t.Fatal(err)
	}
	r.configs = configs
	o := durable.Options{Stream: durable.StreamOf("c1", configMaps, opts, ""), Logger: slog.New(slog.NewTextHandler(&r.log, nil))}
	if change != nil {
		change(&o)
	}
	to := r.place.open(r.t)
	to.fail = r.fail
	m, err := durable.New(configs, to, o)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	later(30 * time.Second) // a watch in which nothing happens may be given up after 55 s
	if meanwhile != nil {
		meanwhile(m)
	}
	cancel()
	return <-ended
}

// rows returns the keys of the place, sorted.
func (r *rig) rows() string { return strings.Join(slices.Sorted(maps.Keys(r.place.rows)), " ") }

// told returns what a kind of change was told of which keys, sorted, since the last call.
func (r *rig) told(how durable.Op) string {
	var keys []string
	for _, c := range r.commits {
		for _, change := range c.changes {
			if change.Op == how {
				keys = append(keys, change.Meta.Key)
			}
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}

// asked returns how often something was asked for since the last call: lists of everything, lists
// of one object, watches.
func (r *rig) asked() (lists, asks, watches int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, req := range r.requests {
		switch {
		case strings.Contains(req.URI, "watch=true"):
			watches++
		case strings.Contains(req.URI, "metadata.name"):
			asks++
		default:
			lists++
		}
	}
	r.requests = nil
	return lists, asks, watches
}

func TestRestartListsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for i := range 20 {
			r.create("a", fmt.Sprint("o", i), nil)
		}
		if err := r.run(listwatch.Options[*thing]{}, nil, nil); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if lists, _, _ := r.asked(); lists != 1 {
			t.Errorf("the first program has listed %d times, want once", lists)
		}
		r.create("a", "meanwhile", nil)
		if _, err := r.server.Delete("configmaps", "a", "o3"); err != nil {
			t.Fatal(err)
		}
		r.commits = nil
		_ = r.run(listwatch.Options[*thing]{}, nil, nil)
		if lists, asks, watches := r.asked(); lists != 0 || asks > 8 || watches != 1 {
			t.Errorf("a restart has sent %d lists, %d asks and %d watches; want no list, at most 8 asks, and 1 watch", lists, asks, watches)
		}
		if put, deleted := r.told(durable.Put), r.told(durable.Deleted); put != "a/meanwhile" || deleted != "a/o3" {
			t.Errorf("written: %s; deleted: %s; want what has happened meanwhile", put, deleted)
		}
		if len(r.place.rows) != 20 {
			t.Errorf("%d rows, want 20", len(r.place.rows))
		}
	})
}

// Nobody reads half of a list: a list is one transaction, except that a first one is many, while
// the version is empty.
func TestTransactionsOfLists(t *testing.T) {
	const beforeBookmark = 40 * time.Second // a bookmark leads to a commit of its own
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for i := range 47 {
			r.create("a", fmt.Sprint("o", i), nil)
		}
		few := func(o *durable.Options) { o.BatchRows = 10 }
		_ = r.run(listwatch.Options[*thing]{}, few, func(m *durable.Mirror[*thing]) {
			for i, c := range r.commits[1:] { // after the one that opens the copy
				last := i == len(r.commits)-2
				if !c.list || len(c.changes) > 10 || (c.version != "") != last {
					t.Errorf("commit %d of %d of the first list: of a list %v, %d changes, version %q", i+1, len(r.commits)-1, c.list, len(c.changes), c.version)
				}
			}
			if n := len(r.commits); n < 6 {
				t.Errorf("%d commits, want one for each 10 rows", n)
			}
			r.commits = nil
			r.refuse(time.Second)
			later(time.Millisecond)
			for i := range 15 {
				if _, err := r.server.Delete("configmaps", "a", fmt.Sprint("o", i)); err != nil {
					t.Fatal(err)
				}
				r.create("b", fmt.Sprint("o", i), nil)
			}
			r.server.Compact()
			later(beforeBookmark)
			if len(r.commits) != 1 || !r.commits[0].list || len(r.commits[0].changes) != 30 {
				t.Errorf("a relist: commits %+v; want one of 30 changes", r.commits)
			}
			if inferred := strings.Fields(r.told(durable.Inferred)); len(inferred) != 15 {
				t.Errorf("inferred: %v, want the 15 that were deleted", inferred)
			}
			r.commits = nil
			r.refuse(time.Second)
			later(time.Millisecond)
			r.create("b", "last", nil)
			r.server.Compact()
			later(beforeBookmark)
			if len(r.commits) != 1 || r.told(durable.Put) != "b/last" {
				t.Errorf("a relist after one change: %+v; want that change alone", r.commits)
			}
			if s := m.Status(); s.Pending != 0 || s.Listed != 0 || s.Committed.Point.Version != r.server.ResourceVersion() || s.Lag(time.Now()) != 0 {
				t.Errorf("the status is %+v, want that nothing waits", s)
			}
		})
	})
}

// If the selectors change, nobody knows whether a row's object is gone.
func TestOtherSelectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigOf(t, apitest.Options{Sharding: true})
		r.create("a", "web", map[string]any{"app": "web"})
		r.create("a", "db", map[string]any{"app": "db"})
		r.create("b", "web", map[string]any{"app": "web"})
		_ = r.run(listwatch.Options[*thing]{}, nil, nil)
		if r.rows() != "a/db a/web b/web" {
			t.Fatalf("rows: %s", r.rows())
		}
		r.commits = nil
		_ = r.run(listwatch.Options[*thing]{LabelSelector: "app=web"}, nil, nil)
		if r.rows() != "a/web b/web" || r.told(durable.Unselected) != "a/db" || r.told(durable.Inferred) != "" {
			t.Errorf("other labels: rows %s; unselected: %s", r.rows(), r.told(durable.Unselected))
		}
		if r.place.state.Unselected {
			t.Error("the state says that rows may still be of other selectors")
		}
		r.commits = nil
		_ = r.run(listwatch.Options[*thing]{LabelSelector: "app=web", Namespace: "b"}, nil, nil)
		if r.rows() != "b/web" || r.told(durable.Unselected) != "a/web" {
			t.Errorf("another namespace: rows %s; unselected: %s", r.rows(), r.told(durable.Unselected))
		}
		r.commits = nil
		for half := range 2 { // the object is in one of them
			shard, err := listwatch.Shard(half, 2)
			must.OK(t, err)
			_ = r.run(listwatch.Options[*thing]{LabelSelector: "app=web", Namespace: "b", ShardSelector: shard}, nil, nil)
		}
		if r.told(durable.Unselected) != "b/web" || r.told(durable.Inferred) != "" {
			t.Errorf("a shard: unselected: %s, inferred: %s", r.told(durable.Unselected), r.told(durable.Inferred))
		}
		// A program that is killed before the list has come leaves that to the next one.
		state := r.place.state
		state.Stream.LabelSelector = "app=db"
		r.place.state = state
		r.refuse(time.Hour)
		_ = r.run(listwatch.Options[*thing]{}, nil, nil)
		if !r.place.state.Unselected || r.place.state.Point.Version != "" {
			t.Errorf("the state is %+v, want no version, and rows of other selectors", r.place.state)
		}
	})
}

func TestMismatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create("a", "web", nil)
		_ = r.run(listwatch.Options[*thing]{}, nil, nil)
		for want, change := range map[string]func(*durable.Stream){
			"the copy of configmaps is of the cluster c1, and this is the cluster c2: use another copy, or delete this one": func(s *durable.Stream) { s.Cluster = "c2" },
			"the copy is of configmaps, and not of secrets: use another copy":                                               func(s *durable.Stream) { s.Resource = "secrets" },
		} {
			before := r.place.state
			err := r.run(listwatch.Options[*thing]{}, func(o *durable.Options) { change(&o.Stream) }, nil)
			var mismatch *durable.MismatchError
			if !errors.As(err, &mismatch) || err.Error() != want {
				t.Errorf("the error is %q, want %q", err, want)
			}
			if r.place.state.Epoch != before.Epoch || len(r.place.rows) != 1 {
				t.Errorf("a copy that was refused has changed: %+v", r.place.state)
			}
		}
	})
}

// The log says once that the database is away, and once that it is back.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create("a", "web", nil)
		configs, err := listwatch.New(r.client, configMaps, listwatch.Options[*thing]{})
		must.OK(t, err)
		to := r.place.open(t)
		var away atomic.Bool
		away.Store(true)
		to.fail = func(string) (error, error) {
			if away.Load() {
				return errDatabase, nil
			}
			return nil, nil
		}
		m, err := durable.New(configs, to, durable.Options{Stream: durable.StreamOf("c1", configMaps, listwatch.Options[*thing]{}, ""), Logger: slog.New(slog.NewTextHandler(&r.log, nil))})
		must.OK(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		later(10 * time.Minute)
		if s := m.Status(); time.Since(s.FailingSince) < 9*time.Minute || !errors.Is(s.Err, errDatabase) {
			t.Errorf("the status is %+v, want that the copy has been failing for ten minutes", s)
		}
		synctest.Wait()
		away.Store(false)
		later(time.Minute)
		if s := m.Status(); !s.FailingSince.IsZero() || s.Reflector.State != reflector.Watching {
			t.Errorf("the status is %+v, want that all is well", s)
		}
		if err := m.Run(ctx); !errors.Is(err, durable.ErrRunning) {
			t.Errorf("a second Run: %v", err)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run has returned %v", err)
		}
		if n := strings.Count(r.log.String(), "relist: copy cannot be written"); n != 1 {
			t.Errorf("the log has %d lines about a database that was away, want one:\n%s", n, r.log.String())
		}
		if n := strings.Count(r.log.String(), "relist: copy written again"); n != 1 {
			t.Errorf("the log has %d lines about a database that is back, want one:\n%s", n, r.log.String())
		}
	})
}

// What has come is committed when Run ends, without waiting for the delay.
func TestLastCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		_ = r.run(listwatch.Options[*thing]{}, func(o *durable.Options) { o.BatchDelay = time.Hour }, func(m *durable.Mirror[*thing]) {
			r.create("a", "web", nil)
			synctest.Wait()
			if s := m.Status(); s.Pending != 1 || len(r.place.rows) != 0 {
				t.Errorf("%d changes wait, want one that is not committed", s.Pending)
			}
			later(time.Minute)
			if lag := m.Status().Lag(time.Now()); lag != time.Minute {
				t.Errorf("the lag is %v, want a minute", lag)
			}
		})
		if r.rows() != "a/web" {
			t.Errorf("rows: %s", r.rows())
		}
	})
}

// If the end of Run interrupts a transaction, it does not stay open: other copies in the same
// database would wait for it.
func TestEndInterruptsTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create("a", "web", nil)
		configs, err := listwatch.New(r.client, configMaps, listwatch.Options[*thing]{})
		must.OK(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		program := r.place.open(t)
		program.fail = func(call string) (before, after error) {
			if call != "write" {
				return nil, nil
			}
			cancel()
			return context.Canceled, nil
		}
		m, err := durable.New(configs, program, durable.Options{Stream: durable.StreamOf("c1", configMaps, listwatch.Options[*thing]{}, "")})
		must.OK(t, err)
		if err := m.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Run has returned %v", err)
		}
		if program.tx != nil {
			t.Error("a transaction is open after the end of Run")
		}
	})
}

func TestNewRefuses(t *testing.T) {
	for want, stream := range map[string]durable.Stream{
		"Cluster is empty":             {Version: "v1", Resource: "pods"},
		"the resource and its version": {Cluster: "c1", Version: "v1"},
	} {
		if _, err := durable.New[*thing](nil, nil, durable.Options{Stream: stream}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want an error with %q", stream, err, want)
		}
	}
}

func TestClusterUID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		if _, err := durable.ClusterUID(t.Context(), r.client); err == nil || !strings.Contains(err.Error(), "identify the cluster by its namespace kube-system") {
			t.Errorf("without a namespace kube-system: %v", err)
		}
		if _, err := r.server.Create("namespaces", map[string]any{"metadata": map[string]any{"name": "kube-system"}}); err != nil {
			t.Fatal(err)
		}
		uid, err := durable.ClusterUID(t.Context(), r.client)
		if err != nil || uid == "" {
			t.Errorf("the cluster is %q, %v", uid, err)
		}
	})
}
