package simulation

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// The same over HTTP: real requests to a server that keeps Kubernetes' rules, and a
// connection that fails at any byte.
func TestConvergenceOverHTTP(t *testing.T) {
	t.Parallel()
	worlds, faults, requests, deltas, inferred := 0, 0, 0, 0, 0
	each(t, func(t *testing.T, seed uint64) {
		if seed%5 != 0 && *one == 0 {
			return // a fifth of the seeds: each costs more than in memory
		}
		r := dice(seed, 0)
		srv := apitest.New(apitest.Options{Window: 1 + r.IntN(50)})
		var counted atomic.Int64
		net := serveMemory(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			counted.Add(1)
			srv.ServeHTTP(w, req)
		}))
		t.Cleanup(func() { _ = srv.Close() })
		w := &writer{t: t, rand: dice(seed, 1), srv: srv}
		for range 10 {
			w.write()
		}
		var n counts
		m := startMirror(t, configMaps(t, transport.Config{Server: "http://relist.test", Dial: net.dial}), reflector.Options{
			Rand:     dice(seed, 2).Float64,
			PageSize: []int{0, 1, 3}[r.IntN(3)],
			Initial:  []reflector.InitialList{reflector.FromCache, reflector.Streaming}[r.IntN(2)],
			Trace:    telling(t, &n),
		})
		ctx, cancel := context.WithCancel(context.Background())
		alive := make(chan struct{})
		pace := []time.Duration{time.Second, 20 * time.Second}[r.IntN(2)]
		go func() {
			defer close(alive)
			w.live(ctx, pace)
		}()
		for range 30 + r.IntN(50) {
			<-time.After(time.Duration(r.Int64N(int64(time.Minute))))
			breakSomething(t, r, srv)
			faults++
		}
		cancel()
		<-alive
		mend(t, srv)
		m.settle(srv, time.Hour)
		m.checkHistory()
		d, i := m.told()
		worlds, requests, deltas, inferred = worlds+1, requests+int(counted.Load()), deltas+d, inferred+i
	})
	t.Logf("%d seeds: %d faults, %d requests, %d deltas, %d inferred deletions", worlds, faults, requests, deltas, inferred)
	if requests < 20*worlds || deltas < 100*worlds || inferred < worlds && worlds > 10 {
		t.Error("too little has happened")
	}
}

// breakSomething does one thing to a server that happens to servers.
func breakSomething(t *testing.T, r *rand.Rand, srv *apitest.Server) {
	t.Helper()
	var err error
	switch r.IntN(12) {
	case 0:
		srv.Compact()
	case 1:
		srv.ExpireContinue()
	case 2:
		srv.EndWatches()
	case 3:
		srv.Inject([]byte(injections[r.IntN(len(injections))]))
	case 4:
		srv.Stall()
	case 5:
		err = srv.Resume()
	case 6:
		srv.GoAway(1 + r.IntN(3))
	case 7:
		err = srv.Refuse(time.Duration(1+r.IntN(60)) * time.Second)
	case 8:
		srv.SwallowBookmarks(r.IntN(2) == 0)
		srv.SwallowInitialEventsEnd(r.IntN(2) == 0)
	case 9:
		_, err = srv.Cut(apitest.Cut{After: r.Int64N(2000), Next: 1 + r.IntN(5), Clean: r.IntN(2) == 0, Reset: r.IntN(2) == 0})
	case 10:
		srv.CutWatches(r.Int64N(300))
	default:
		err = srv.FailNext(apitest.Failure{
			Count:      1 + r.IntN(4),
			Verb:       []string{"", "list", "watch"}[r.IntN(3)],
			Status:     []int{400, 401, 403, 404, 410, 429, 500, 502, 503, 504}[r.IntN(10)],
			RetryAfter: time.Duration(r.IntN(10)) * time.Second,
			InStream:   r.IntN(4) == 0,
		})
	}
	must.OK(t, err)
}

// injections are bytes that no API server sends.
var injections = []string{
	`{"type":"MODI`,
	`<html>504</html>`,
	"\n\n\n",
	`{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{}}}`,
	`{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"1"}}}`,
	`{"type":"SURPRISE","object":{}}`,
	`{"type":"ERROR","object":{"kind":"Status","status":"Failure"}}`,
	`{"type":"ERROR","object":null}`,
	`{"type":"MODIFIED","object":{"metadata":{"namespace":"default","name":"c01"`,
}

// mend ends every fault but what has become of the connections.
func mend(t *testing.T, srv *apitest.Server) {
	t.Helper()
	srv.SwallowBookmarks(false)
	srv.SwallowInitialEventsEnd(false)
	must.OK(t, srv.Resume())
}
