package simulation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// restoration is a backup that is restored at some moment of a conversation.
type restoration struct {
	name string

	// when brings it about that the informer runs, and calls restore at the moment.
	when func(*restoredTrial)

	// gone: the last thing that the copy was told of is a deletion. Otherwise it is a change of the
	// newest object.
	gone bool
	// again: the restored server has written every object again that the copy knows, except two.
	// Otherwise the newest object stays as the backup has it.
	again bool

	// found: every copy is right again within foundWithin. In the other rows, some or all never
	// are.
	found bool
}

// foundWithin is what docs/guarantees.md promises.
const foundWithin = 10 * time.Second

// restorations are the rows of the table, in the order of the page.
var restorations = []restoration{
	{name: "before the first list", when: heldAt("list", false), found: true},
	{name: "between two pages, connections break", when: heldAt("page", false), found: true},
	{name: "between two pages, no connection breaks", when: heldAt("page", true)},
	{name: "between list and watch, connections break, written again", when: heldAt("watch", false), again: true, found: true},
	{name: "between list and watch, no connection breaks", when: heldAt("watch", true)},
	{name: "between list and watch, no connection breaks, written again", when: heldAt("watch", true), again: true},
	{name: "during a watch, a clean end", when: duringWatch, found: true},
	{name: "during a watch, a clean end, written again", when: duringWatch, again: true, found: true},
	{name: "during a watch, a clean end, deleted", when: duringWatch, gone: true, found: true},
	{name: "away for 1 s, written again", when: whileAway(time.Second), again: true, found: true},
	{name: "away for 60 s, deleted", when: whileAway(time.Minute), gone: true, found: true},
	{name: "while no process runs, then a saved copy; written again", when: whileStopped, again: true, found: true},
}

// heldAt restores while the first request of a verb is on its way.
func heldAt(verb string, keepConnections bool) func(*restoredTrial) {
	return func(tr *restoredTrial) {
		tr.write()
		tr.writeWhatIsLost()
		held, err := tr.srv.Hold(verb)
		tr.must(err)
		tr.follow()
		<-held
		tr.restore(keepConnections)
		tr.must(tr.srv.Resume())
	}
}

func duringWatch(tr *restoredTrial) {
	tr.followAndLose()
	tr.restore(true)
}

func whileAway(d time.Duration) func(*restoredTrial) {
	return func(tr *restoredTrial) {
		tr.followAndLose()
		tr.must(tr.srv.Refuse(0))
		tr.pass(d / 2)
		tr.restore(false)
		tr.pass(d / 2)
		tr.must(tr.srv.Resume())
	}
}

func whileStopped(tr *restoredTrial) {
	tr.followAndLose()
	tr.stop()
	tr.pass(10 * time.Second)
	tr.restore(false)
	tr.follow()
}

// restoredTrial is one informer of a server over HTTP, and one restored backup, in a bubble.
// Somebody writes once a second.
type restoredTrial struct {
	t *testing.T
	restoration
	rand     *rand.Rand // of the trial; the reflector, which is another goroutine, has jitter
	jitter   *rand.Rand
	srv      *apitest.Server
	listener *apitest.Listener
	saved    savedCopy

	in     *informer.Informer[*configMap]
	cancel context.CancelFunc
	done   chan error

	backup string
	writes int
	ended  time.Time // when the restored server could be asked

	mu       sync.Mutex // guards what follows
	requests map[string]time.Time
}

// steps of a trial: time is looked at this often.
const stepsASecond = 4

func newRestoredTrial(t *testing.T, seed uint64, what restoration) *restoredTrial {
	tr := &restoredTrial{t: t, restoration: what, rand: dice(seed, 0), jitter: dice(seed, 1), requests: make(map[string]time.Time)}
	tr.srv, tr.listener = apitest.StartInMemory(t, apitest.Options{Log: func(r apitest.LoggedRequest) {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		tr.requests[r.Begin.String()+" "+r.URI] = r.Begin // a watch is logged twice
	}})
	tr.put(lostFirst)
	for i := range trialKeys {
		tr.put(fmt.Sprintf("c%02d", i))
	}
	for _, name := range []string{lost, newest} {
		tr.put(name)
	}
	return tr
}

// lostFirst is what lost is, and comes with the first page of a list.
const lostFirst = "a-lost"

func (tr *restoredTrial) must(err error) {
	tr.t.Helper()
	if err != nil {
		tr.t.Fatal(err)
	}
}

// put changes an object, or makes it.
func (tr *restoredTrial) put(name string) {
	tr.t.Helper()
	tr.writes++
	obj := named(name, map[string]any{"n": strconv.Itoa(tr.writes)})
	if _, err := tr.srv.Update("configmaps", obj); err != nil {
		_, err = tr.srv.Create("configmaps", obj)
		tr.must(err)
	}
}

// write changes one object, makes it or deletes it.
func (tr *restoredTrial) write() {
	tr.t.Helper()
	name := fmt.Sprintf("c%02d", tr.rand.IntN(trialKeys))
	if tr.rand.IntN(4) == 0 {
		if _, err := tr.srv.Delete("configmaps", "default", name); err == nil {
			return
		}
	}
	tr.put(name)
}

// writeWhatIsLost takes a backup, and writes what the backup lacks. The newest object is written
// last.
func (tr *restoredTrial) writeWhatIsLost() {
	tr.t.Helper()
	tr.backup = tr.srv.ResourceVersion()
	tr.put(lostFirst)
	tr.put(lost)
	for range 2 + tr.rand.IntN(16) {
		tr.write()
	}
	if tr.gone {
		_, err := tr.srv.Delete("configmaps", "default", newest)
		tr.must(err)
		return
	}
	tr.put(newest)
}

// restore restores the backup, and writes until the versions have passed what the copy knows.
func (tr *restoredTrial) restore(keepConnections bool) {
	tr.t.Helper()
	was := number(tr.t, tr.srv.ResourceVersion())
	tr.must(tr.srv.Restore(apitest.Restore{ResourceVersion: tr.backup, KeepConnections: keepConnections}))
	n := was - number(tr.t, tr.backup) + 3 + tr.rand.IntN(20)
	if tr.again {
		for _, i := range tr.rand.Perm(trialKeys + 1) {
			if i == trialKeys {
				tr.put(newest)
			} else {
				tr.put(fmt.Sprintf("c%02d", i))
			}
		}
	}
	for range n {
		tr.write()
	}
}

func number(t *testing.T, version string) int {
	t.Helper()
	n, err := strconv.Atoi(version)
	must.OK(t, err)
	return n
}

// follow starts an informer, with the copy of the one before.
func (tr *restoredTrial) follow() {
	lw := configMaps(tr.t, transport.Config{Server: tr.listener.URL, Dial: tr.listener.Dial})
	tr.in = informer.New(lw, informer.Options[*configMap]{
		Reflector:       reflector.Options{Rand: tr.jitter.Float64, PageSize: 5, Initial: reflector.Consistent},
		Logger:          slog.New(slog.DiscardHandler),
		Checkpoint:      &tr.saved,
		CheckpointEvery: -1,
	})
	ctx, cancel := context.WithCancel(tr.t.Context())
	tr.cancel, tr.done = cancel, make(chan error, 1)
	go func(in *informer.Informer[*configMap], done chan<- error) { done <- in.Run(ctx) }(tr.in, tr.done)
}

func (tr *restoredTrial) stop() {
	tr.t.Helper()
	tr.cancel()
	if err := <-tr.done; !errors.Is(err, context.Canceled) {
		tr.t.Error(err)
	}
}

// followAndLose starts the informer, writes what is lost, and waits until the copy has it.
func (tr *restoredTrial) followAndLose() {
	tr.t.Helper()
	tr.follow()
	tr.pass(between(tr.rand, 15*time.Second, 50*time.Second))
	tr.writeWhatIsLost()
	synctest.Wait()
	if !tr.equals() {
		tr.t.Fatal("the copy does not follow before anything is wrong")
	}
}

// pass lets time go by, with a write each second.
func (tr *restoredTrial) pass(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; <-time.After(time.Second) {
		if tr.backup == "" || !tr.ended.IsZero() { // what is lost ends with the newest object
			tr.write()
		}
	}
}

// equals reports whether the copy has what the server has.
func (tr *restoredTrial) equals() bool {
	for _, name := range []string{lostFirst, lost} { // nearly every copy that is wrong is wrong here
		obj, err := tr.srv.Get("configmaps", "default", name)
		tr.must(err)
		if !tr.has(obj) {
			return false
		}
	}
	items, _, err := tr.srv.List("configmaps", "")
	tr.must(err)
	return tr.in.Store().Len() == len(items) && !slices.ContainsFunc(items, func(obj map[string]any) bool { return !tr.has(obj) })
}

// has reports whether the copy has this state of an object.
func (tr *restoredTrial) has(obj map[string]any) bool {
	meta := obj["metadata"].(map[string]any)
	got, ok := tr.in.Store().Get("default/" + meta["name"].(string))
	return ok && got.ResourceVersion == meta["resourceVersion"] && got.UID == types.UID(meta["uid"].(string)) &&
		got.Data["n"] == obj["data"].(map[string]any)["n"]
}

// recover waits until the copy is what the server has and stays so, and returns how long that took;
// false if it is not within patience.
func (tr *restoredTrial) recover() (time.Duration, bool) {
	tr.t.Helper()
	tr.ended = time.Now()
	var since time.Time // zero while the copy is wrong
	for i := 1; time.Since(tr.ended) < patience; i++ {
		<-time.After(time.Second / stepsASecond)
		if i%stepsASecond == 0 {
			tr.write()
		}
		synctest.Wait()
		switch {
		case !tr.equals():
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= lasting:
			return since.Sub(tr.ended), true
		}
	}
	return 0, false
}

// asked returns how many requests came in the minute after the restored server could be asked.
func (tr *restoredTrial) asked() int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	n := 0
	for _, at := range tr.requests {
		if after := at.Sub(tr.ended); after >= 0 && after < time.Minute {
			n++
		}
	}
	return n
}

// savedCopy keeps what an informer saves for the next one.
type savedCopy struct {
	objects []*configMap
	at      reflector.Point
}

// Load implements informer.Checkpointer.
func (c *savedCopy) Load(context.Context, string) ([]*configMap, reflector.Point, error) {
	return slices.Clone(c.objects), c.at, nil
}

// Save implements informer.Checkpointer.
func (c *savedCopy) Save(_ context.Context, _ string, at reflector.Point, objects iter.Seq[*configMap]) error {
	c.objects, c.at = slices.Collect(objects), at
	return nil
}

// restoredMeasured is what the trials of one row have shown.
type restoredMeasured struct {
	took     []time.Duration
	never    int
	requests int // in the worst trial
}

// TestRestoredBackups measures how soon a copy is right again after a backup was restored at a
// moment of its conversation with the server, if it is at all, without Verify.
func TestRestoredBackups(t *testing.T) {
	t.Parallel()
	results := make([]restoredMeasured, len(restorations))
	table := newTable("restored backups", "the backup is restored", "never right again", "the others: median", "longest", "requests in the worst minute")
	t.Cleanup(func() {
		for i, what := range restorations {
			if m := &results[i]; len(m.took)+m.never > 0 {
				half, worst := "-", "-"
				if len(m.took) > 0 {
					slices.Sort(m.took)
					half, worst = seconds(m.took[len(m.took)/2]), seconds(m.took[len(m.took)-1])
				}
				never := fmt.Sprintf("%.1f %%", 100*float64(m.never)/float64(len(m.took)+m.never))
				table.row(what.name, never, half, worst, strconv.Itoa(m.requests))
			}
		}
		table.show(t, len(restorations))
	})
	for i, what := range restorations {
		t.Run(what.name, func(t *testing.T) {
			t.Parallel()
			m := &results[i]
			many := *trials
			if many < enough {
				many = max(many/5, 1) // a copy that is never right takes long
			}
			measureSeeds(t, many, func(t *testing.T, seed uint64) {
				tr := newRestoredTrial(t, seed, what)
				what.when(tr)
				took, ok := tr.recover()
				if ok {
					m.took = append(m.took, took)
				} else {
					m.never++
				}
				if what.found && (!ok || took > foundWithin) {
					t.Errorf("the copy is right again (%t) within %s, want %s: -seed=%d", ok, seconds(took), seconds(foundWithin), seed)
				}
				tr.stop()
				m.requests = max(m.requests, tr.asked())
			})
			if m.requests > requestsAMinute {
				t.Errorf("%d requests in one minute, want %d at most", m.requests, requestsAMinute)
			}
		})
	}
}
