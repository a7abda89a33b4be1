package simulation

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/reflector"
)

const (
	writeEvery = time.Second          // how often somebody writes, unless a fault needs idle time
	latency    = 5 * time.Millisecond // from a request to its answer
	lasting    = 10 * time.Second     // how long a copy stays fresh that is taken for fresh
	trialKeys  = 12                   // objects that are written at random: c00 to c11
)

// trial is one mirror of a server over HTTP, and one fault between them, in a bubble.
//
// One goroutine writes and compares: whenever the server or the mirror changes, the
// mirror is compared with what the server has, key by key, in UID, version and data.
type trial struct {
	t     *testing.T
	rand  *rand.Rand
	srv   *apitest.Server
	net   *memory
	front *front
	proxy *proxy
	*mirror

	plugin *plugin // nil unless the fault is one of it

	has        map[string]content // what the server has, by key
	writes     int
	byVersion  bool // a version of an object has the same data in every history
	tick       *time.Ticker
	staleSince time.Time // zero while the mirror equals the server
	staleUntil time.Time // the end of the last time that it did not; a difference that is gone in the same instant does not count

	// ended is when the server answered again. It is zero after faults that a server
	// may have ended without being asked: then the moment counts when it first is.
	ended time.Time

	bookmarks atomic.Int64

	mu      sync.Mutex // guards what follows
	watches []request
}

// content is what a server or a mirror has of one object.
type content struct {
	uid     types.UID
	version string
	data    string
}

// startTrial starts a server, a mirror of it, and somebody who writes, and returns when
// the watch has been open for 15 seconds at least, and no minute.
func startTrial(t *testing.T, seed uint64, f fault) *trial {
	srv := apitest.New(apitest.Options{})
	tr := &trial{t: t, rand: dice(seed, 0), srv: srv, front: &front{next: srv}, has: map[string]content{}}
	tr.net = serveMemory(t, tr.front)
	t.Cleanup(func() { _ = srv.Close() })
	tr.proxy = newProxy(t, tr.net.dial)
	for i := range trialKeys {
		tr.put(fmt.Sprintf("c%02d", i), "0")
	}
	for _, name := range []string{lost, newest} {
		tr.put(name, "0")
	}
	cfg, opts := f.cfg, reflector.Options{Rand: dice(seed, 2).Float64, Trace: tr.trace()}
	cfg.Server, cfg.Dial = "http://relist.test", tr.net.dial
	if f.plugin {
		tr.plugin = newPlugin(t, &cfg)
	}
	if f.throughProxy {
		cfg.Dial = tr.proxy.dial
	}
	lw := configMaps(t, cfg)
	if f.verify > 0 {
		metadata, err := lw.Metadata()
		must.OK(t, err)
		opts.Verify = reflector.VerifyOptions{Interval: f.verify, Metadata: metadata}
	}
	tr.mirror = startMirror(t, lw, opts)
	tr.pass(time.Duration(tr.rand.Int64N(int64(writeEvery))))
	tr.tick = time.NewTicker(writeEvery)
	t.Cleanup(tr.tick.Stop)
	tr.pass(between(tr.rand, 15*time.Second, 50*time.Second))
	tr.expectFresh()
	return tr
}

// trace counts watches and bookmarks, and tells what telling does.
func (tr *trial) trace() *reflector.Trace {
	var n counts
	trace := telling(tr.t, &n)
	bookmark, watch := trace.Bookmark, trace.WatchStart
	trace.Bookmark = func(version string) {
		bookmark(version)
		tr.bookmarks.Add(1)
	}
	trace.WatchStart = func(e reflector.WatchStart) {
		watch(e)
		tr.mu.Lock()
		defer tr.mu.Unlock()
		tr.watches = append(tr.watches, request{at: time.Now(), verb: "watch"})
	}
	return trace
}

// between returns a time from low to high, chosen at random.
func between(r *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)))
}

// put makes an object or changes it. It is one version more.
func (tr *trial) put(name, data string) {
	tr.t.Helper()
	obj := named(name, map[string]any{"n": data})
	c := tr.has["default/"+name]
	var err error
	if c.uid == "" {
		c.version, err = tr.srv.Create("configmaps", obj)
	} else {
		c.version, err = tr.srv.Update("configmaps", obj)
	}
	if err == nil && c.uid == "" {
		obj, err = tr.srv.Get("configmaps", "default", name)
	}
	if err != nil {
		tr.t.Fatal(err)
	}
	if c.uid == "" {
		c.uid = types.UID(obj["metadata"].(map[string]any)["uid"].(string))
	}
	c.data = data
	tr.has["default/"+name] = c
}

func (tr *trial) remove(name string) {
	tr.t.Helper()
	if _, err := tr.srv.Delete("configmaps", "default", name); err != nil {
		tr.t.Fatal(err)
	}
	delete(tr.has, "default/"+name)
}

// write changes one object, makes it or deletes it. It is one version more.
func (tr *trial) write() {
	tr.t.Helper()
	name := fmt.Sprintf("c%02d", tr.rand.IntN(trialKeys))
	tr.writes++
	data := fmt.Sprint(tr.writes)
	if tr.byVersion {
		data = "after " + tr.srv.ResourceVersion()
	}
	if _, ok := tr.has["default/"+name]; ok && tr.rand.IntN(4) == 0 {
		tr.remove(name)
	} else {
		tr.put(name, data)
	}
	tr.look()
}

// restore takes the server back to a version. The front and the network break connections, if the
// fault is to break them.
func (tr *trial) restore(version string) {
	tr.t.Helper()
	if err := tr.srv.Restore(apitest.Restore{ResourceVersion: version, KeepConnections: true}); err != nil {
		tr.t.Fatal(err)
	}
	items, _, err := tr.srv.List("configmaps", "")
	if err != nil {
		tr.t.Fatal(err)
	}
	clear(tr.has)
	for _, obj := range items {
		meta := obj["metadata"].(map[string]any)
		tr.has["default/"+meta["name"].(string)] = content{
			uid:     types.UID(meta["uid"].(string)),
			version: meta["resourceVersion"].(string),
			data:    obj["data"].(map[string]any)["n"].(string),
		}
	}
	tr.look()
}

// equals reports whether the mirror has what the server has.
func (tr *trial) equals() bool {
	if tr.store.Len() != len(tr.has) {
		return false
	}
	for key, want := range tr.has {
		obj, ok := tr.store.Get(key)
		if !ok || (content{obj.UID, obj.ResourceVersion, obj.Data["n"]}) != want {
			return false
		}
	}
	return true
}

// look compares the mirror with the server.
func (tr *trial) look() {
	now := time.Now()
	switch equals := tr.equals(); {
	case !equals && tr.staleSince.IsZero():
		tr.staleSince = now
	case equals && !tr.staleSince.IsZero():
		if now.After(tr.staleSince) {
			tr.staleUntil = now
		}
		tr.staleSince = time.Time{}
	}
}

// pass lets time go by: somebody writes, and the mirror follows or does not.
func (tr *trial) pass(d time.Duration) {
	tr.t.Helper()
	end := time.NewTimer(d)
	defer end.Stop()
	var tick <-chan time.Time
	if tr.tick != nil {
		tick = tr.tick.C
	}
	for {
		select {
		case <-tr.changed:
			tr.look()
		case <-tick:
			tr.write()
		case <-end.C:
			synctest.Wait()
			tr.look()
			return
		}
	}
}

// quiet has nobody write any more.
func (tr *trial) quiet() {
	tr.tick.Stop()
	tr.pass(time.Second)
	tr.expectFresh()
}

func (tr *trial) expectFresh() {
	tr.t.Helper()
	if status := tr.Status(); !tr.staleSince.IsZero() || status.State != reflector.Watching {
		tr.t.Fatalf("the mirror does not follow before anything is wrong: %+v", status)
	}
}

// recover waits until the mirror is fresh and stays so, and returns how long that took
// since the end of the fault; false if it is not within a time.
func (tr *trial) recover(within time.Duration) (time.Duration, bool) {
	tr.t.Helper()
	for began := time.Now(); time.Since(began) < within; {
		tr.pass(time.Second)
		ended := tr.ended
		if ended.IsZero() {
			ended = tr.front.reachedAt()
		}
		fresh := ended
		if tr.staleUntil.After(ended) {
			fresh = tr.staleUntil
		}
		if !ended.IsZero() && tr.staleSince.IsZero() && time.Since(fresh) >= lasting {
			return fresh.Sub(ended), true
		}
	}
	return within, false
}

// asked returns the most watches, and the most requests of all kinds and attempts to connect, of
// any minute; or the runs of a plugin, if there were more in the minute in which it failed.
func (tr *trial) asked() (watches, requests int) {
	tr.mu.Lock()
	watches = busiest(tr.watches, time.Minute)
	tr.mu.Unlock()
	all := append(tr.net.inVain(), tr.front.seen()...)
	slices.SortFunc(all, func(a, b request) int { return a.at.Compare(b.at) })
	requests = busiest(all, time.Minute)
	if tr.plugin != nil {
		requests = max(requests, tr.plugin.inAMinute)
	}
	return watches, requests
}

// front stands before a server, as a load balancer does: it takes some time for each
// request, and can answer without the server.
type front struct {
	next http.Handler

	mu       sync.Mutex       // guards all below
	instead  http.HandlerFunc // who answers instead of the server; nil if the server does
	reached  time.Time        // when the first request was handed on since forget
	requests []request
}

// nginx is what a proxy says whose servers are all down.
const nginx = "<html>\r\n<head><title>503 Service Temporarily Unavailable</title></head>\r\n</html>\r\n"

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	verb := "list"
	switch query := req.URL.Query(); {
	case query.Get("watch") == "true" || query.Get("watch") == "1":
		verb = "watch"
	case query.Get("continue") != "":
		verb = "page"
	}
	f.mu.Lock()
	f.requests = append(f.requests, request{at: time.Now(), verb: verb})
	f.mu.Unlock()
	if pass(req.Context(), latency) != nil {
		return // nobody waits for the answer
	}
	f.mu.Lock()
	instead := f.instead
	if instead == nil && f.reached.IsZero() {
		f.reached = time.Now()
	}
	f.mu.Unlock()
	if instead != nil {
		instead(w, req)
		return
	}
	f.next.ServeHTTP(w, req)
}

// answer begins a time in which a handler answers instead of the server, or ends it if the handler
// is nil.
func (f *front) answer(instead http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.instead = instead
}

// saying returns a handler that gives each request the same answer.
func saying(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // to a client that may be gone
	}
}

// forget begins to wait for the next request that is handed on.
func (f *front) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reached = time.Time{}
}

func (f *front) reachedAt() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reached
}

func (f *front) seen() []request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}
