//go:build !race

package simulation

// See herd_test.go for why the race detector does not see this.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// fleet is API servers in front of one storage, and the clients of all of them. A client stays with
// its server until that server goes, and then turns to any of the others. The storage is never
// compacted.
type fleet struct {
	storage *truth
	servers []*apiServer
	endless bool       // timeoutSeconds are not obeyed: the client has to end its watches
	rand    *rand.Rand // of the writer

	mu     sync.Mutex // guards all below, and what the servers and the clients say that it guards
	choice *rand.Rand // of servers
	asked  []asking
}

// apiServer is one of a fleet. Its watch cache begins when the server starts.
type apiServer struct {
	*server
	born uint64        // a watch from before this version gets 410; guarded by fleet.mu
	lost chan struct{} // closed when the server goes; nil while it is away; guarded by fleet.mu
}

// asking is a request that a server has answered.
type asking struct {
	who  int
	at   time.Time
	verb string // watch; list for everything there is; ask for less
	etcd bool   // kube-apiserver may answer it from etcd
}

// client is one ListWatcher of a fleet. All of its requests use one connection.
type client struct {
	*fleet
	who  int
	at   *apiServer    // guarded by fleet.mu
	lost chan struct{} // of the connection to it; guarded by fleet.mu
	cuts int           // guarded by fleet.mu
}

const (
	fleetServers = 3
	fleetObjects = 10

	// A rolling restart takes less than a minute: each server is away for restartAway, and the next
	// one goes restartEvery after it.
	restartEvery = 20 * time.Second
	restartAway  = 10 * time.Second

	// otherType is the name of all objects that are not of the clients' type: they have versions,
	// and no client sees them.
	otherType = "elsewhere"
)

func newFleet(seed uint64, servers int, marks time.Duration) *fleet {
	f := &fleet{storage: newTruth(), rand: dice(seed, 1<<32), choice: dice(seed, 1<<33)}
	for i := range fleetObjects {
		f.storage.put(fmt.Sprintf("o%d", i), time.Time{})
	}
	for range servers {
		s := newServer(nil)
		s.truth, s.marks = f.storage, marks
		f.servers = append(f.servers, &apiServer{server: s, born: birth, lost: make(chan struct{})})
	}
	return f
}

// leave cuts the connections to a server, which refuses new ones.
func (f *fleet) leave(s *apiServer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(s.lost)
	s.lost = nil
}

// comeBack starts a server again, which knows no event from before.
func (f *fleet) comeBack(s *apiServer) {
	f.storage.mu.Lock()
	present := f.storage.version()
	f.storage.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	s.born, s.lost = present, make(chan struct{})
}

// ask notes a request, and returns who answers it, and the oldest version that it can watch from.
func (c *client) ask(verb string, opts metav1.ListOptions) (s *apiServer, born uint64, lost chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil || c.at.lost != c.lost {
		there := slices.DeleteFunc(slices.Clone(c.servers), func(s *apiServer) bool { return s.lost == nil })
		if len(there) == 0 {
			return nil, 0, nil, errRefused
		}
		c.at = there[c.choice.IntN(len(there))]
		c.lost = c.at.lost
	}
	c.asked = append(c.asked, asking{who: c.who, at: time.Now(), verb: verb, etcd: verb != "watch" && readsEtcd(opts)})
	return c.at, c.at.born, c.lost, nil
}

// readsEtcd reports whether a kube-apiserver may answer a list from etcd. A list that any version
// will do for, or any version from one on, comes from the watch cache.
func readsEtcd(opts metav1.ListOptions) bool {
	return opts.ResourceVersion == "" || opts.Continue != "" || opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact
}

// List implements source.ListWatcher.
func (c *client) List(ctx context.Context, opts metav1.ListOptions) (*source.Page[*object], error) {
	verb := "list"
	if opts.FieldSelector != "" || opts.Limit == 1 {
		verb = "ask"
	}
	s, _, _, err := c.ask(verb, opts)
	if err != nil {
		return nil, err
	}
	page, err := s.List(ctx, opts)
	if err == nil {
		page.Items = slices.DeleteFunc(page.Items, func(obj *object) bool { return obj.name == otherType })
	}
	return page, err
}

// Watch implements source.ListWatcher.
func (c *client) Watch(ctx context.Context, opts metav1.ListOptions) (source.Watch[*object], error) {
	s, born, lost, err := c.ask("watch", opts)
	if err != nil {
		return nil, err
	}
	if parse(opts.ResourceVersion) < born {
		return expired{}, nil
	}
	if c.endless {
		opts.TimeoutSeconds = nil
	}
	ctx, cancel := context.WithCancel(ctx)
	w, err := s.Watch(ctx, opts)
	if err != nil {
		cancel()
		return nil, err
	}
	go func() {
		defer cancel()
		select {
		case <-lost:
		case <-ctx.Done():
		}
	}()
	return &fleetWatch{Watch: w, of: c, lost: lost, cancel: cancel}, nil
}

// expired is a watch whose first event says that the server no longer has its version.
type expired struct{}

// Next implements source.Watch.
func (expired) Next() (e source.Event[*object], err error) { return e, refusalNamed("410 Expired") }

// Close implements source.Watch.
func (expired) Close() error { return nil }

func (c *client) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cuts++
}

// fleetWatch is a watch that breaks when its server goes.
type fleetWatch struct {
	source.Watch[*object]
	of     *client
	lost   chan struct{}
	cancel context.CancelFunc // ends the wait for lost
}

// Next implements source.Watch.
func (w *fleetWatch) Next() (source.Event[*object], error) {
	for {
		e, err := w.Watch.Next()
		select {
		case <-w.lost:
			w.of.cut()
			return source.Event[*object]{}, io.ErrUnexpectedEOF
		default:
		}
		if err != nil || e.Object == nil || e.Object.name != otherType {
			return e, err
		}
	}
}

// Close implements source.Watch.
func (w *fleetWatch) Close() error {
	w.cancel()
	return w.Watch.Close()
}

// gather starts reflectors of a fleet, all at once, and stops them when the test has ended.
func (f *fleet) gather(t *testing.T, seed uint64, size int) []*client {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	clients := make([]*client, size)
	for who := range clients {
		clients[who] = &client{fleet: f, who: who}
		r := reflector.New(clients[who], reflector.InMemory(store.New(store.Options[*object]{})),
			reflector.Options{Rand: dice(seed, uint64(who)).Float64})
		running.Go(func() {
			if err := r.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("Run returned %v", err)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return clients
}

// spend lets time go by, and writes once a second.
func (f *fleet) spend(d time.Duration, write func(*fleet)) {
	for began := time.Now(); time.Since(began) < d; <-time.After(time.Second) {
		if write != nil {
			write(f)
		}
	}
}

func writeOwn(f *fleet) { f.storage.put(fmt.Sprintf("o%d", f.rand.IntN(fleetObjects)), time.Time{}) }

func writeOther(f *fleet) { f.storage.put(otherType, time.Time{}) }

// fleetTrial is what happens to a fleet, in the order of the page.
type fleetTrial struct {
	what     string
	size     int           // reflectors
	fewer    int           // the number of seeds is divided by it: a crowd is a sample by itself
	restarts bool          // each server is restarted, one after the other, and a minute is counted; otherwise, the first hour is
	marks    time.Duration // between two bookmarks; 0 if there are none
	write    func(*fleet)  // once a second; nil if nobody writes
}

var fleetTrials = []fleetTrial{
	{what: "1,000 reflectors, restarts, an object is written each second", size: crowdSize, fewer: 20, restarts: true, marks: time.Minute, write: writeOwn},
	{what: "1,000 reflectors, restarts, only objects of other types are written", size: crowdSize, fewer: 20, restarts: true, marks: time.Minute, write: writeOther},
	{what: "1,000 reflectors, restarts, nothing is written", size: crowdSize, fewer: 20, restarts: true, marks: time.Minute},
	{what: "1,000 reflectors, restarts, nothing is written, no bookmarks", size: crowdSize, fewer: 20, restarts: true},
	{what: "one reflector, an idle hour from its start, bookmarks", size: 1, fewer: 1, marks: time.Minute},
	{what: "one reflector, an idle hour from its start, no bookmarks", size: 1, fewer: 1},
}

// fleetCount is what one reflector asks for.
type fleetCount struct {
	watches, asks, lists, etcd int
}

// heard returns the requests of one kind, or of all if verb is empty, since a time.
func (f *fleet) heard(verb string, since time.Time) (all []asking) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.asked {
		if (verb == "" || a.verb == verb) && !a.at.Before(since) {
			all = append(all, a)
		}
	}
	return all
}

// within counts what each reflector has asked for in a time.
func (f *fleet) within(size int, began time.Time, d time.Duration) []fleetCount {
	f.mu.Lock()
	defer f.mu.Unlock()
	counts := make([]fleetCount, size)
	for _, a := range f.asked {
		if a.at.Before(began) || a.at.Sub(began) >= d {
			continue
		}
		c := &counts[a.who]
		switch a.verb {
		case "watch":
			c.watches++
		case "ask":
			c.asks++
		default:
			c.lists++
		}
		if a.etcd {
			c.etcd++
		}
	}
	return counts
}

// restartAll restarts the servers, and returns what each reflector has asked for in the minute
// since the first went.
func (tr fleetTrial) restartAll(t *testing.T, f *fleet, clients []*client) []fleetCount {
	f.spend(between(f.rand, 2*time.Minute, 4*time.Minute), tr.write)
	began := time.Now()
	var restarts sync.WaitGroup
	for i, s := range f.servers {
		restarts.Go(func() {
			<-time.After(time.Duration(i) * restartEvery)
			f.leave(s)
			<-time.After(restartAway)
			f.comeBack(s)
		})
	}
	f.spend(time.Minute, tr.write)
	restarts.Wait()
	synctest.Wait()
	counts := f.within(len(clients), began, time.Minute)
	for who, c := range counts {
		checkRestarts(t, c, clients[who].cuts)
	}
	return counts
}

// checkRestarts fails a test in which a reflector has asked for more than its cut watches explain.
// After a cut, the first watch repeats the last events; if the server no longer has them, another
// begins at the resume version; if the server no longer has that, a list from its watch cache
// follows, and a watch. Beside a watch there are at most four questions of the history check. One
// watch more may have come to its timeout, because timeouts are 5 minutes at least.
func checkRestarts(t *testing.T, c fleetCount, cuts int) {
	t.Helper()
	switch {
	case cuts < 1 || cuts > fleetServers:
		t.Errorf("%d watches of one reflector were cut by %d restarts", cuts, fleetServers)
	case c.watches < cuts || c.watches > 3*cuts+1 || c.lists > cuts || c.asks > 4*cuts:
		t.Errorf("%d watches, %d lists and %d questions of a reflector whose watch was cut %d times", c.watches, c.lists, c.asks, cuts)
	case c.etcd != c.asks:
		t.Errorf("%d reads of etcd, and %d questions: a list was read from etcd", c.etcd, c.asks)
	}
}

func (tr fleetTrial) run(t *testing.T, seed uint64) []fleetCount {
	size := tr.size
	if testing.Short() {
		size = min(size, 30)
	}
	f := newFleet(seed, fleetServers, tr.marks)
	began := time.Now()
	clients := f.gather(t, seed, size)
	if tr.restarts {
		return tr.restartAll(t, f, clients)
	}
	f.spend(time.Hour, tr.write)
	counts := f.within(size, began, time.Hour)
	// A question follows a watch that was idle for too long.
	if c := counts[0]; c.lists != 1 || c.watches > 1+int(time.Hour/(5*time.Minute)) || c.asks > c.watches {
		t.Errorf("%d lists, %d watches and %d questions in an idle hour", c.lists, c.watches, c.asks)
	}
	return counts
}

// fleetResult sums the counts of all reflectors of all seeds.
type fleetResult struct {
	reflectors int
	sum, most  fleetCount
}

func (r *fleetResult) add(c fleetCount) {
	r.reflectors++
	r.sum.watches, r.most.watches = r.sum.watches+c.watches, max(r.most.watches, c.watches)
	r.sum.asks, r.most.asks = r.sum.asks+c.asks, max(r.most.asks, c.asks)
	r.sum.lists, r.most.lists = r.sum.lists+c.lists, max(r.most.lists, c.lists)
	r.sum.etcd, r.most.etcd = r.sum.etcd+c.etcd, max(r.most.etcd, c.etcd)
}

func (r *fleetResult) cell(sum, most int) string {
	return fmt.Sprintf("%.2f, at most %d", float64(sum)/float64(r.reflectors), most)
}

// TestFleet counts what a rolling restart of the API servers costs, and what an idle hour does.
func TestFleet(t *testing.T) {
	t.Parallel()
	results := make([]fleetResult, len(fleetTrials))
	table := newTable("fleet", "what happens", "watches of each reflector", "lists of one object", "full lists", "reads of etcd")
	t.Cleanup(func() {
		for i, tr := range fleetTrials {
			if r := &results[i]; r.reflectors > 0 {
				table.row(tr.what, r.cell(r.sum.watches, r.most.watches), r.cell(r.sum.asks, r.most.asks),
					r.cell(r.sum.lists, r.most.lists), r.cell(r.sum.etcd, r.most.etcd))
			}
		}
		table.show(t, len(fleetTrials))
	})
	for i, tr := range fleetTrials {
		t.Run(tr.what, func(t *testing.T) {
			t.Parallel()
			measureSome(t, tr.fewer, func(t *testing.T, seed uint64) {
				for _, c := range tr.run(t, seed) {
					results[i].add(c)
				}
			})
		})
	}
}
