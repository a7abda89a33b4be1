package simulation

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/transport"
)

// fault is what happens to the connection of a mirror or to its server, and how long the
// mirror may take to be fresh again.
type fault struct {
	name   string
	table  string // of the page
	row    string // of the table, if several faults share it
	strike func(*trial)

	// half and all are within how long half of the mirrors, and all of them, are to be
	// fresh again. Seconds are compared to a tenth, as they are printed.
	half, all time.Duration

	cfg          transport.Config
	throughProxy bool          // whose connections can be frozen
	plugin       bool          // that gives the credential
	goesBack     bool          // so that old versions may be told again
	verify       time.Duration // reflector.VerifyOptions.Interval
}

// These objects are written by faults alone.
const (
	lost   = "lost"   // changed after the backup, and not changed again once it is restored
	newest = "newest" // what the mirror heard of last before the fault
	born   = "born"   // made after the backup
)

const (
	halfOpenHTTP1 = 90 * time.Second
	halfOpenPing  = 45 * time.Second // transport.Config: ReadIdleTimeout and PingTimeout

	// A mirror whose newest object shows that the server rolled back is given 10 seconds
	// from its first answer on. Otherwise Verify tells: its period, a tenth of jitter,
	// and 10 seconds.
	backToThePast = 10 * time.Second
	verifyEvery   = time.Minute
	byVerify      = verifyEvery + verifyEvery/10 + 10*time.Second
)

// The tables of the page. The clock of each starts at another moment.
const (
	whenAway     = "when the server is away"
	whenStruck   = "when requests or connections fail"
	whenRestored = "when a backup is restored"
)

// faults are all that is measured, in the order of the page.
var faults = func() []fault {
	all := []fault{
		{table: whenAway, name: "connections refused", strike: refused(time.Minute, true), half: 6 * time.Second, all: 12 * time.Second},
		{table: whenAway, name: "connections refused for 10 s, and no compaction", strike: refused(10*time.Second, false), half: 2 * time.Second, all: 6 * time.Second},
	}
	for _, x := range outages {
		all = append(all, fault{
			table: whenAway, name: x.name, strike: compacted(x.answer), plugin: x.answer == nil, half: x.half, all: x.all,
		})
	}
	all = append(all, []fault{
		{table: whenStruck, name: "watches answered with 500, six times", strike: answered(apitest.Failure{Verb: "watch", Count: 6, Status: 500}), half: 18 * time.Second, all: 25 * time.Second},
		{table: whenStruck, name: "watches answered with 503, six times", strike: answered(apitest.Failure{Verb: "watch", Count: 6, Status: 503}), half: 18 * time.Second, all: 25 * time.Second},
		{table: whenStruck, name: "200 and HTML, four times", strike: answered(apitest.Failure{Count: 4, Status: 200, ContentType: "text/html", Raw: []byte("<html>login</html>")}), half: 6 * time.Second, all: 8 * time.Second},
		{table: whenStruck, name: "half-open connection, HTTP/1.1, no bookmark so far", strike: frozen(0), half: halfOpenHTTP1, all: halfOpenHTTP1, throughProxy: true, cfg: transport.Config{Protocol: transport.ProtocolHTTP1}},
		{table: whenStruck, name: "half-open connection, HTTP/1.1, after a bookmark", strike: frozen(1), half: halfOpenHTTP1, all: halfOpenHTTP1, throughProxy: true, cfg: transport.Config{Protocol: transport.ProtocolHTTP1}},
		{table: whenStruck, name: "half-open connection, HTTP/2", strike: frozen(0), half: halfOpenPing, all: halfOpenPing, throughProxy: true, cfg: transport.Config{Protocol: transport.ProtocolHTTP2}},
		{table: whenStruck, name: "half-open connection, WebSocket", strike: frozen(0), half: halfOpenPing, all: halfOpenPing, throughProxy: true, cfg: transport.Config{WatchTransport: transport.WatchWebSocket}},
	}...)
	for _, differs := range []bool{true, false} {
		for _, behind := range curtains {
			for _, writes := range []int{3, 30} {
				f := fault{
					table: whenRestored, row: behind.name + ", the newest object differs",
					strike: restored(behind, writes, differs), goesBack: true,
					half: backToThePast, all: backToThePast,
				}
				if !differs {
					f.row = behind.name + ", the newest object is the same"
					f.half, f.all, f.verify = byVerify, byVerify, verifyEvery
				}
				f.name = fmt.Sprintf("%s, %d writes since", f.row, writes)
				all = append(all, f)
			}
		}
	}
	return all
}()

// refused is a server that is gone for a time, while others write through another one.
func refused(d time.Duration, compacts bool) func(*trial) {
	return func(tr *trial) {
		tr.net.refuse()
		tr.pass(d)
		tr.write() // so that the mirror is stale for certain
		if compacts {
			tr.srv.Compact()
		}
		tr.net.accept()
		tr.ended = time.Now()
	}
}

// outages are times in which all that a client gets is an answer, and the same again. Each answer
// costs the server something, so the client asks it less and less often, and half a minute or more
// may pass until it learns that the outage is over. The 410 that follows must not cost as much once
// more.
var outages = []struct {
	name      string
	answer    http.HandlerFunc // nil for an exec plugin that fails
	half, all time.Duration
}{
	{"403 to all requests", saying(http.StatusForbidden, "application/json", statusText(403, "Forbidden")), 45 * time.Second, 67 * time.Second},
	{"429 to all requests", saying(http.StatusTooManyRequests, "application/json", statusText(429, "TooManyRequests")), 45 * time.Second, 67 * time.Second},
	{"500 to all requests", saying(http.StatusInternalServerError, "application/json", statusText(500, "InternalError")), 45 * time.Second, 67 * time.Second},
	{"answers that are cut", cut, 45 * time.Second, 67 * time.Second},
	{"answers that cannot be decompressed", garbled, 45 * time.Second, 67 * time.Second},
	{"an exec plugin fails", nil, 45 * time.Second, 67 * time.Second},
}

func statusText(code int, reason string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":%q,"code":%d}`, reason, code)
}

// cut breaks each answer off in its middle.
func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[`)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// garbled says of each answer that it is compressed, which it is not.
func garbled(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	saying(http.StatusOK, "application/json", `{"kind":"ConfigMapList"}`)(w, req)
}

// compacted is a watch that is cut, and a server that compacts while a client gets nothing but
// answers of one kind.
func compacted(answer http.HandlerFunc) func(*trial) {
	return func(tr *trial) {
		if answer != nil {
			tr.front.answer(answer)
		} else {
			tr.plugin.fail()
		}
		if n := tr.srv.CutWatches(0); n != 1 {
			tr.t.Fatalf("%d watches were cut, want 1", n)
		}
		tr.pass(time.Minute)
		tr.write()
		tr.srv.Compact()
		if answer != nil {
			tr.front.answer(nil)
		} else {
			tr.plugin.work()
		}
		tr.ended = time.Now()
	}
}

// answered is a watch that is cut, and a server that fails requests by their number. The
// fault is over when the mirror has asked so often: its whole length counts.
func answered(x apitest.Failure) func(*trial) {
	return func(tr *trial) {
		if err := tr.srv.FailNext(x); err != nil {
			tr.t.Fatal(err)
		}
		if n := tr.srv.CutWatches(0); n != 1 {
			tr.t.Fatalf("%d watches were cut, want 1", n)
		}
		tr.write()
		tr.ended = time.Now()
	}
}

// frozen is a connection that passes nothing on any more, and new ones that do.
func frozen(bookmarks int64) func(*trial) {
	return func(tr *trial) {
		for range 120 {
			if tr.bookmarks.Load() >= bookmarks {
				break
			}
			tr.pass(time.Second)
		}
		if bookmarks > 0 {
			tr.pass(between(tr.rand, 0, 50*time.Second))
		}
		if got := tr.bookmarks.Load(); got != bookmarks {
			tr.t.Fatalf("%d bookmarks came, want %d", got, bookmarks)
		}
		tr.proxy.freeze()
		tr.write()
		tr.ended = time.Now()
	}
}

// curtain is behind what a backup is restored.
type curtain struct {
	name string
	draw func(*trial)
	open func(*trial)
}

var curtains = []curtain{
	{"refused connections", func(tr *trial) { tr.net.refuse() }, func(tr *trial) {
		tr.pass(between(tr.rand, 5*time.Second, time.Minute))
		tr.net.accept()
	}},
	{"503", func(tr *trial) { tr.front.answer(saying(http.StatusServiceUnavailable, "text/html", nginx)) }, func(tr *trial) {
		tr.pass(between(tr.rand, 5*time.Second, 30*time.Second))
		tr.front.answer(nil)
	}},
	{"a clean end", func(*trial) {}, func(*trial) {}}, // the restoration ends the watch
}

// restored is a server that is taken back to a backup, and is written to before it
// answers.
//
// The newest object differs if it was changed, made or deleted after the backup. It is the
// same if the writes since the restore have brought it to the same version again. In both
// cases the object lost stays as the backup has it.
func restored(behind curtain, writes int, differs bool) func(*trial) {
	return func(tr *trial) {
		tr.quiet()
		backup := tr.srv.ResourceVersion()
		tr.put(lost, "undone")
		if differs {
			for range 2 + tr.rand.IntN(16) { // with 3 writes the server is behind, with 30 it is ahead
				tr.write()
			}
			[]func(){
				func() { tr.put(newest, "undone") },
				func() { tr.put(born, "undone") },
				func() { tr.remove(newest) },
			}[tr.rand.IntN(3)]()
		} else {
			tr.byVersion = true // else nothing could tell, Verify included
			tr.write()
			tr.put(newest, "the same")
		}
		tr.pass(between(tr.rand, 15*time.Second, time.Minute))
		tr.expectFresh()
		before := tr.has["default/"+newest]

		tr.front.forget()
		behind.draw(tr)
		tr.restore(backup)
		for i := range writes {
			if i == 2 && !differs {
				tr.put(newest, "the same")
			} else {
				tr.write()
			}
		}
		if after := tr.has["default/"+newest]; !differs && after != before {
			tr.t.Fatalf("the newest object is %v, and was %v: want the same", after, before)
		}
		behind.open(tr)
	}
}

// measured is what the trials of one fault have shown.
type measured struct {
	took              []time.Duration // sorted; forever if the mirror was not fresh again in time
	slowest           uint64          // the seed that took longest
	watches, requests int             // in the worst minute
}

const (
	patience = 11 * time.Minute // of a trial: the longest that a watch can be idle, and more
	forever  = patience
)

func (m *measured) add(seed uint64, took time.Duration, watches, requests int) {
	if len(m.took) == 0 || took > slices.Max(m.took) {
		m.slowest = seed
	}
	m.took = append(m.took, took)
	m.watches, m.requests = max(m.watches, watches), max(m.requests, requests)
}

func (m *measured) median() time.Duration {
	slices.Sort(m.took)
	return m.took[len(m.took)/2]
}

func (m *measured) worst() time.Duration { return slices.Max(m.took) }

// seconds prints as the page does.
func seconds(d time.Duration) string {
	if d >= forever {
		return "never"
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// A mirror is fresh again within the time that docs/guarantees.md promises, whatever has
// happened, and asks for no more than it promises meanwhile.
func TestRecovery(t *testing.T) {
	t.Parallel()
	results := make([]measured, len(faults))
	t.Cleanup(func() { showRecovery(t, results) })
	for i, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			m := &results[i]
			measure(t, func(t *testing.T, seed uint64) {
				tr := startTrial(t, seed, f)
				tr.strike(f)
				took, ok := tr.recover(patience)
				if !ok {
					took = forever
				}
				if !f.goesBack {
					tr.checkHistory()
				}
				watches, requests := tr.asked()
				m.add(seed, took, watches, requests)
			})
			m.check(t, f)
		})
	}
}

// showRecovery prints a row for each fault, or for several that share one: the slowest of them
// counts.
func showRecovery(t *testing.T, results []measured) {
	t.Helper()
	for i := 0; i < len(faults); {
		name, rows := faults[i].table, 0
		table := newTable(name, "what happens", "median (promised)", "longest (promised)", "watches, requests in the worst minute")
		for ; i < len(faults) && faults[i].table == name; rows++ {
			f, row := faults[i], cmp.Or(faults[i].row, faults[i].name)
			var half, all time.Duration
			var watches, requests int
			for ; i < len(faults) && cmp.Or(faults[i].row, faults[i].name) == row; i++ {
				if m := &results[i]; len(m.took) > 0 {
					half, all = max(half, m.median()), max(all, m.worst())
					watches, requests = max(watches, m.watches), max(requests, m.requests)
				}
			}
			if all > 0 {
				table.row(row, fmt.Sprintf("%s (%s)", seconds(half), seconds(f.half)), fmt.Sprintf("%s (%s)", seconds(all), seconds(f.all)), fmt.Sprintf("%d, %d", watches, requests))
			}
		}
		table.show(t, rows)
	}
}

// strike has a fault happen, and fails the test if the mirror had nothing to miss.
func (tr *trial) strike(f fault) {
	tr.t.Helper()
	f.strike(tr)
	if tr.staleSince.IsZero() {
		tr.t.Fatal("the mirror is fresh although something is wrong: this shows nothing")
	}
}

// enough trials have a median that is the one that docs/guarantees.md promises.
const enough = 100

// check compares what was measured with what is promised.
func (m *measured) check(t *testing.T, f fault) {
	t.Helper()
	const precision = 100 * time.Millisecond
	half := f.half
	switch n := len(m.took); {
	case n < 10:
		half = f.all // so few have no median
	case n < enough:
		half += half / 4 // the median of so few may be off by that
	}
	if got := m.median(); got.Round(precision) > half {
		t.Errorf("half of the mirrors are fresh again within %s, want %s", seconds(got), seconds(half))
	}
	if got := m.worst(); got.Round(precision) > f.all {
		t.Errorf("the slowest mirror is fresh again within %s, want %s: -seed=%d", seconds(got), seconds(f.all), m.slowest)
	}
	checkMinute(t, m.watches, m.requests)
}

// What no server can get out of a reflector more of in a minute. Pages of lists are
// not counted where a server is in memory.
const (
	watchesAMinute  = 24
	requestsAMinute = 48
)

func checkMinute(t *testing.T, watches, requests int) {
	t.Helper()
	if watches > watchesAMinute {
		t.Errorf("%d watches in one minute, want %d at most", watches, watchesAMinute)
	}
	if requests > requestsAMinute {
		t.Errorf("%d requests in one minute, want %d at most", requests, requestsAMinute)
	}
}

// measure runs a simulation for every seed, or for the one that was asked for, each in a
// bubble of its own.
func measure(t *testing.T, run func(t *testing.T, seed uint64)) {
	t.Helper()
	measureSeeds(t, *trials, run)
}

func measureSeeds(t *testing.T, many int, run func(t *testing.T, seed uint64)) {
	t.Helper()
	first, last := uint64(1), uint64(many)
	if *one != 0 {
		first, last = *one, *one
	}
	for seed := first; seed <= last; seed++ {
		synctest.Test(t, func(t *testing.T) { run(t, seed) })
	}
}
