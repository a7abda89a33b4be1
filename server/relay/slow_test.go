package relay

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/server/watchcache"
)

// large creates or changes objects of 16 KB.
func (r *rig) large(resource string, n int) {
	r.Helper()
	for i := range n {
		o := map[string]any{"metadata": map[string]any{
			"name": fmt.Sprint("a", i), "namespace": "shop", "annotations": map[string]any{"a": strings.Repeat("x", 16<<10), "at": r.server.ResourceVersion()},
		}}
		change := r.server.Create
		if _, err := r.server.Get(resource, "shop", fmt.Sprint("a", i)); err == nil {
			change = r.server.Update
		}
		if _, err := change(resource, o); err != nil {
			r.Fatal(err)
		}
	}
	synctest.Wait()
}

// open sends a request, and reads nothing of the answer.
func (r *rig) open(path string) io.Reader {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://localhost/api/v1/"+path, nil)
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "identity") // or all of it comes at once
	resp, err := r.http.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = resp.Body.Close() })
	return resp.Body
}

// TestSlowReaders shows that a reader is cut who takes some KB of a list each second, or nothing
// for a minute, whoever answers.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	play(t, Options{PassOn: true}, func(r *rig) {
		r.large("pods", 100)
		r.large("configmaps", 100)
		for path, pace := range map[string]time.Duration{
			"pods?resourceVersion=0": time.Second, "pods": time.Second, "configmaps": writeTimeout + time.Second,
		} {
			body, start := r.open(path), time.Now()
			var err error
			for err == nil {
				later(pace)
				_, err = io.ReadFull(body, make([]byte, 2<<10))
			}
			if took := time.Since(start); err != io.ErrUnexpectedEOF || took > answerTimeout+4*pace+10*time.Second {
				t.Errorf("%s: %v after %v", path, err, took)
			}
		}
	})
}

// TestSlowReadersHoldNoObjects shows that objects which have left the cache while they wait for a
// slow reader leave the memory, and end the answer.
func TestSlowReadersHoldNoObjects(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"pods?resourceVersion=0", "pods?watch=1&resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"} {
		play(t, Options{Cache: watchcache.Options{MinEvents: 10, MaxEvents: 10}}, func(r *rig) {
			r.large("pods", 60)
			cache := r.relay.upstreams[0].cache
			var old []weak.Pointer[state]
			for _, key := range cache.Keys() {
				old = append(old, weak.Make(cache.Now(key).(*state)))
			}
			body := r.open(path)
			r.large("pods", 60)
			r.large("pods", 60)
			runtime.GC()
			held := 0
			for _, one := range old {
				if one.Value() != nil {
					held++
				}
			}
			if held > 10 { // that which is being written, and some that the runtime has not looked at
				t.Errorf("%s: %d of %d objects are held for a reader who takes nothing", path, held, len(old))
			}
			text, err := io.ReadAll(body)
			if watch := strings.Contains(path, "watch"); len(text) > 256<<10 || !watch && err == nil {
				t.Errorf("%s: %d bytes, %v", path, len(text), err)
			}
		})
	}
}

// TestInitialEventsOverAnOutage shows that initial events wait for the next yes, also for longer
// than a reader may take for one of them.
func TestInitialEventsOverAnOutage(t *testing.T) {
	t.Parallel()
	for _, http2 := range []bool{false, true} {
		guarded(t, Options{}, func(r *rig, a *authority) {
			r.large("pods", 400)
			r.stop()
			r.protocols.SetHTTP1(!http2)
			r.protocols.SetUnencryptedHTTP2(http2)
			r.start(Options{Authenticate: r.relay.opts.Authenticate, Authorize: r.relay.opts.Authorize})
			r.http.Transport = bearing{"t-alice", r.http.Transport}
			body := r.open("pods?watch=1&resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=3600")
			a.set(func() { a.down = true })
			must.OK(t, r.server.Refuse(0))
			time.AfterFunc(10*time.Minute, func() { a.set(func() { a.down = false }) })
			for range 18 { // until the last yes is two minutes old
				later(10 * time.Second)
				if _, err := io.ReadFull(body, make([]byte, 16<<10)); err != nil {
					t.Fatalf("HTTP/2 %v: %v", http2, err)
				}
			}
			if n, err := io.ReadFull(body, make([]byte, 382*16<<10)); err != nil {
				t.Errorf("HTTP/2 %v: %d bytes, %v", http2, n, err)
			}
		})
	}
}
