package events_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/controller/events"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

var shopType = object.Type{Group: "example.com", Version: "v1", Resource: "shops", Kind: "Shop"}

// inName is what makes the name of an Event its own.
var inName = regexp.MustCompile(`\.[0-9a-f]{15}`)

// later lets virtual time pass.
func later(d time.Duration) { <-time.After(d); synctest.Wait() }

func shop(name string) *metav1.ObjectMeta { return &metav1.ObjectMeta{Namespace: "town", Name: name} }

// rig is a Recorder and its server.
type rig struct {
	*events.Recorder
	t      *testing.T
	server *apitest.Server
	began  time.Time

	mu       sync.Mutex
	log      bytes.Buffer
	requests []string                                             // "10s PATCH"
	fault    func(w http.ResponseWriter, req *http.Request) error // if set, it answers
}

// test runs f in a bubble.
func test(t *testing.T, f func(r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, server: apitest.New(apitest.Options{}), began: time.Now()}
		defer r.server.Close()
		client, err := transport.NewClient(transport.Config{Server: "https://api.test", RoundTripper: r})
		must.OK(t, err)
		r.Recorder, err = events.New(client, events.Options{Controller: "example.com/shops", Logger: slog.New(slog.NewTextHandler(r, nil))})
		must.OK(t, err)
		f(r)
	})
}

// run runs the Recorder until the function that it returns is called.
func (r *rig) run() (stop func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			r.t.Errorf("Run returned %v", err)
		}
	}
}

// Write gets the lines of the log.
func (r *rig) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(line)
}

// RoundTrip gets the requests.
func (r *rig) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.requests = append(r.requests, fmt.Sprintf("%v %s", time.Since(r.began).Round(time.Second), req.Method))
	fault := r.fault
	r.mu.Unlock()
	answer := httptest.NewRecorder()
	if fault == nil {
		r.server.ServeHTTP(answer, req)
	} else if err := fault(answer, req); err != nil {
		return nil, err
	}
	resp := answer.Result()
	resp.Request = req
	return resp, nil
}

func (r *rig) setFault(fault func(w http.ResponseWriter, req *http.Request) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = fault
}

// sent returns the requests since the last time.
func (r *rig) sent() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := r.requests
	r.requests = nil
	return sent
}

// wantLog compares the lines of the log since the last time.
func (r *rig) wantLog(want ...string) {
	r.t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	var got []string
	for line := range strings.Lines(r.log.String()) {
		_, line, _ = strings.Cut(line, ` msg=`)
		got = append(got, strings.TrimSpace(inName.ReplaceAllString(line, ".0")))
	}
	r.log.Reset()
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("logged (-want +got):\n%s", diff)
	}
}

// want compares the Events on the server, in the order of their names.
func (r *rig) want(want ...string) {
	r.t.Helper()
	synctest.Wait()
	items, _, err := r.server.List("events.events.k8s.io", "")
	if err != nil {
		r.t.Fatal(err)
	}
	var got []string
	for _, e := range items {
		line := fmt.Sprintf("%s: %s", e["reason"], e["note"])
		if series, ok := e["series"].(map[string]any); ok {
			line += fmt.Sprintf(" x%v", series["count"])
		}
		got = append(got, line)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("Events (-want +got):\n%s", diff)
	}
}

func (r *rig) wantSent(want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.sent()); diff != "" {
		r.t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func (r *rig) event(name, reason, note string) {
	r.Event(shop(name), shopType, events.Normal, reason, "Write", "%s", note)
}

// A thousand equal Events are one object, whether they come at once or a second apart.
func TestEqualEvents(t *testing.T) {
	test(t, func(r *rig) {
		defer r.run()()
		for range 1000 {
			r.event("bakery", "Failed", "no flour")
			synctest.Wait()
		}
		r.want("Failed: no flour")
		later(time.Hour)
		r.want("Failed: no flour x1000")
		r.wantSent("0s POST", "10s PATCH")

		for range 1000 {
			r.event("bakery", "Failed", "no sugar")
			later(time.Second)
		}
		r.wantSent("1h0m0s POST", "1h0m10s PATCH", "1h0m20s PATCH", "1h0m40s PATCH", "1h1m20s PATCH", "1h2m40s PATCH", "1h5m20s PATCH", "1h10m20s PATCH", "1h15m20s PATCH")
		later(time.Hour)
		r.want("Failed: no flour x1000", "Failed: no sugar x1000")
		r.wantSent("1h20m20s PATCH")
	})
}

// Every Event is counted, from many goroutines, and the last counts are sent when Run ends. An
// Event that comes after ten minutes is another one.
func TestTheLastCountIsSentWhenRunEnds(t *testing.T) {
	test(t, func(r *rig) {
		stop := r.run()
		r.event("bakery", "Failed", "no flour")
		later(11 * time.Minute)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				for range 10 {
					r.event("bakery", "Failed", "no flour")
					r.event("dairy", "Failed", "no milk")
				}
			})
		}
		all.Wait()
		stop()
		r.want("Failed: no flour", "Failed: no flour x200", "Failed: no milk x200")
		if d := time.Since(r.began); d != 11*time.Minute {
			t.Errorf("Run ended after %v", d)
		}
		r.wantLog()
	})
}

// After ten different Events of an object, there is one more for each reason. Other objects are not
// concerned.
func TestDifferentNotes(t *testing.T) {
	test(t, func(r *rig) {
		defer r.run()()
		var want []string
		for i := range 500 {
			r.event("bakery", "Baked", fmt.Sprint(i, " loaves"))
			if i < 10 {
				want = append(want, fmt.Sprint("Baked: ", i, " loaves"))
			}
		}
		r.event("bakery", "Closed", "no flour")
		r.event("bakery", "Baked", "0 loaves")
		r.event("dairy", "Closed", "no milk")
		later(time.Minute)
		want[0] += " x2"
		r.want(append(want, "Baked: (further Events of this reason) x490", "Closed: (further Events of this reason)", "Closed: no milk")...)
		r.wantLog()
	})
}

// While the server is away, it is asked every ten seconds, and for each Event every minute. Then
// the Events are there, also those that the server has made without an answer.
func TestServerIsAway(t *testing.T) {
	test(t, func(r *rig) {
		stop := r.run()
		r.setFault(func(w http.ResponseWriter, req *http.Request) error {
			r.server.ServeHTTP(w, req)
			return errors.New("connection reset")
		})
		r.event("bakery", "Failed", "no flour")
		synctest.Wait()
		r.setFault(func(http.ResponseWriter, *http.Request) error { return errors.New("no route") })
		later(time.Minute)
		r.event("bakery", "Failed", "no flour")
		want := []string{"Failed: no flour x2"}
		for i := range 50 {
			r.event(fmt.Sprint("shop-", i), "Failed", "no milk")
			want = append(want, "Failed: no milk")
		}
		later(4 * time.Minute)
		if n := len(r.sent()); n < 20 || n > 31 {
			t.Errorf("%d requests in 5 minutes", n)
		}
		r.setFault(nil)
		later(5 * time.Minute)
		r.want(want...)

		r.setFault(func(http.ResponseWriter, *http.Request) error { return errors.New("no route") })
		for range 3 {
			r.event("bakery", "Failed", "no sugar")
		}
		later(15 * time.Minute)
		r.wantLog(`"relist: events lost" count=3 error="create events.events.k8s.io town/bakery.0: post https://api.test/apis/events.k8s.io/v1/namespaces/town/events: no route"`)
		r.event("bakery", "Failed", "no eggs")
		now := time.Now()
		stop()
		if d := time.Since(now); d > 5*time.Second {
			t.Errorf("Run ended after %v", d)
		}
		r.wantLog(`"relist: events lost" count=1 error="create events.events.k8s.io town/bakery.0: post https://api.test/apis/events.k8s.io/v1/namespaces/town/events: no route"`)
	})
}

// What the server refuses is not sent again, and is told once. A series that somebody has deleted
// begins again, with its count.
func TestRefusedAndDeleted(t *testing.T) {
	test(t, func(r *rig) {
		defer r.run()()
		must.OK(t, r.server.FailNext(apitest.Failure{Count: 3, Status: http.StatusForbidden, Message: "no role"}))
		for i := range 3 {
			r.event(fmt.Sprint("shop-", i), "Failed", "no flour")
			synctest.Wait()
		}
		later(9 * time.Minute)
		r.wantSent("0s POST", "0s POST", "0s POST")
		r.wantLog(`"relist: events lost" count=1 error="create events.events.k8s.io town/shop-0.0: post https://api.test/apis/events.k8s.io/v1/namespaces/town/events: 403 Forbidden: no role"`)
		later(2 * time.Minute)
		r.wantLog(`"relist: events lost" count=2 error="create events.events.k8s.io town/shop-2.0: post https://api.test/apis/events.k8s.io/v1/namespaces/town/events: 403 Forbidden: no role"`)

		r.event("bakery", "Failed", "no flour")
		synctest.Wait()
		r.want("Failed: no flour")
		items, _, err := r.server.List("events.events.k8s.io", "")
		must.OK(t, err)
		if _, err := r.server.Delete("events.events.k8s.io", "town", items[0]["metadata"].(map[string]any)["name"].(string)); err != nil {
			t.Fatal(err)
		}
		r.event("bakery", "Failed", "no flour")
		later(time.Minute)
		r.want("Failed: no flour x2")
		r.wantSent("11m0s POST", "11m10s PATCH", "11m10s POST")
	})
}

// Thousands of different Events are sent five a second, after the first hundred. What does not fit
// into the memory is lost, and counted.
func TestTooMany(t *testing.T) {
	test(t, func(r *rig) {
		for i := range 4200 {
			r.event(fmt.Sprint("shop-", i), "Failed", "no flour")
		}
		defer r.run()()
		if n := len(r.sent()); n != 102 {
			t.Errorf("%d requests at once", n)
		}
		later(time.Minute)
		if n := len(r.sent()); n != 300 {
			t.Errorf("%d requests in a minute", n)
		}
		r.wantLog(`"relist: events lost" count=104 error="there are too many different Events"`)
	})
}

func TestControllerIsAName(t *testing.T) {
	for _, name := range []string{"", "shops/example.com/x", "the shops"} {
		if _, err := events.New(nil, events.Options{Controller: name}); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
}

// Of a long note, only what is sent is kept.
func TestLongNotesAreNotKept(t *testing.T) {
	test(t, func(r *rig) {
		for i := range 64 {
			r.Event(shop(fmt.Sprint(i)), shopType, events.Warning, "Failed", "Write", "%s", strings.Repeat("x", 1<<20))
		}
		var memory runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&memory)
		if memory.HeapAlloc > 32<<20 {
			t.Errorf("%d bytes are in use", memory.HeapAlloc)
		}
		r.run()()
	})
}
