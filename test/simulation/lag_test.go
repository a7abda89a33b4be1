package simulation

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// Of 1,000 objects one cannot be decoded, is changed, repaired, broken again and
// deleted. It is in quarantine and its story is right, and the answer about it takes the server 3
// seconds; what happens to the other 999 is here within a second all the while.
//
// The seconds are of a bubble, where work takes none: what is measured is how long
// something waits, on however busy a machine.
func TestLagBesideAnUndecodableObject(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.New(apitest.Options{})
		t.Cleanup(func() { _ = srv.Close() })
		var asks atomic.Int64
		net := serveMemory(t, beforeAsksOfBad(srv, func(context.Context) {
			asks.Add(1)
			<-time.After(3 * time.Second)
		}))
		l := newLagged(t, srv, wall(time.Now()))
		l.run(transport.Config{Server: "http://relist.test", Dial: net.dial}, scenario{
			nextAsk: func() {},
			endAsk:  func() {},
			breath:  func() { <-time.After(400 * time.Millisecond) }, // so that the bad object is asked for meanwhile
		})
		if n := asks.Load(); n < 2 {
			t.Errorf("the bad object was asked for %d times while the others changed, want 2 at least", n)
		}
	})
}

// The same in real time and over loopback: the work is measured, too. While the others
// change, the question for the bad object hangs at the server.
//
// It is not parallel, so that no other test of this package is what they wait for.
func TestLagBesideAnUndecodableObjectInRealTime(t *testing.T) {
	srv := apitest.New(apitest.Options{})
	arrived, leave := make(chan struct{}), make(chan struct{})
	web := httptest.NewServer(beforeAsksOfBad(srv, func(ctx context.Context) {
		select {
		case arrived <- struct{}{}:
		case <-ctx.Done():
			return
		}
		select {
		case <-leave:
		case <-ctx.Done():
		}
	}))
	t.Cleanup(func() {
		_ = srv.Close()
		web.Close()
	})
	l := newLagged(t, srv, startMetronome(t))
	l.run(transport.Config{Server: web.URL}, scenario{
		nextAsk: func() {
			select {
			case <-arrived:
			case <-time.After(time.Minute):
				t.Fatal("the bad object is not asked for within a minute")
			}
		},
		endAsk: func() {
			select {
			case leave <- struct{}{}:
			case <-time.After(time.Minute):
				t.Fatal("the refetch of the bad object was given up while the others changed")
			}
		},
		breath: func() {},
	})
}

// beforeAsksOfBad serves what srv does, and calls wait before a list of the bad object alone.
func beforeAsksOfBad(srv http.Handler, wait func(context.Context)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.Contains(req.URL.Query().Get("fieldSelector"), "metadata.name=bad") {
			wait(req.Context())
		}
		srv.ServeHTTP(w, req)
	})
}

// scenario is where the two runs differ.
type scenario struct {
	nextAsk func() // waits until the bad object is asked for
	endAsk  func() // has it answered
	breath  func() // is taken after each hundred changes
}

// lagged is a mirror and how long each change took to reach it.
type lagged struct {
	*mirror
	scenario

	t     *testing.T
	srv   *apitest.Server
	clock clock
	round int

	mu      sync.Mutex
	written map[string]time.Duration // when each object's last change was begun
	n       int                      // changes, without the first list
	worst   time.Duration
	story   []string // of the bad object
}

func newLagged(t *testing.T, srv *apitest.Server, c clock) *lagged {
	return &lagged{t: t, srv: srv, clock: c, written: map[string]time.Duration{}}
}

// run plays the story of the bad object, and judges the lag of the others.
func (l *lagged) run(cfg transport.Config, s scenario) {
	const objects = 1000
	t := l.t
	l.scenario = s
	for i := range objects - 1 {
		l.create(fmt.Sprintf("c%03d", i), map[string]any{"n": "0"})
	}
	// A number, where the client's type has text.
	broken, good := map[string]any{"n": 5}, map[string]any{"n": "5"}
	l.create("bad", broken)
	l.mirror = startMirror(t, configMaps(t, cfg), reflector.Options{}, l.hear)
	last, err := l.srv.Get("configmaps", "default", "c998")
	if err != nil {
		t.Fatal(err)
	}
	listed := last["metadata"].(map[string]any)["resourceVersion"].(string)
	l.await("default/c998", listed, time.Minute)
	// The consumer may be quicker than the status, which names the bad object.
	if err := l.WaitForVersion(t.Context(), listed); err != nil {
		t.Fatal(err)
	}
	l.expect("the list", objects-1, true)

	l.changeOthersDuringAnAsk()
	l.expect("after changes of others", objects-1, true)
	l.update("bad", broken)
	l.changeOthersDuringAnAsk()
	l.expect("after a change", objects-1, true)
	repaired := l.update("bad", good)
	l.changeOthers()
	l.expect("repaired", objects, false)
	l.update("bad", broken)
	l.changeOthersDuringAnAsk()
	l.expect("broken again", objects, true)
	if held, ok := l.store.Get("default/bad"); !ok || held.ResourceVersion != repaired {
		t.Errorf("broken again: %v is held, want the version that was good, %s", held, repaired)
	}
	if _, err := l.srv.Delete("configmaps", "default", "bad"); err != nil {
		t.Fatal(err)
	}
	l.changeOthers()
	l.expect("deleted", objects-1, false)

	l.checkHistory()
	l.mu.Lock()
	defer l.mu.Unlock()
	// An event repairs it as a rule, but a refetch may be quicker, and what it brings is new.
	byEvent, byAsk := []string{"Updated " + repaired, "Deleted"}, []string{"Added " + repaired, "Deleted"}
	if !slices.Equal(l.story, byEvent) && !slices.Equal(l.story, byAsk) {
		t.Errorf("the story of the bad object is %q, want %q", l.story, byEvent)
	}
	t.Logf("%d changes, the slowest %s after it was begun", l.n, l.worst)
	if l.n < 5*(objects-1) || l.worst > time.Second {
		t.Errorf("%d changes were heard of, %s late at most; want %d within a second", l.n, l.worst, 5*(objects-1))
	}
}

func (l *lagged) hear(typ deltafifo.Type, obj *configMap) {
	now := l.clock.now()
	version, err := strconv.ParseUint(obj.ResourceVersion, 10, 64)
	newest, newestErr := strconv.ParseUint(l.srv.ResourceVersion(), 10, 64)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil || newestErr != nil || version > newest: // the server gives out every version up to its newest
		l.t.Errorf("the server never gave out version %s", obj.ResourceVersion)
	case obj.Name == "bad" && typ == deltafifo.Deleted:
		l.story = append(l.story, typ.String())
	case obj.Name == "bad":
		l.story = append(l.story, typ.String()+" "+obj.ResourceVersion)
	case typ == deltafifo.Updated:
		l.n++
		l.worst = max(l.worst, now-l.written[obj.Name])
	default: // of the first list, whose objects are older
	}
}

func (l *lagged) create(name string, data map[string]any) {
	if _, err := l.srv.Create("configmaps", named(name, data)); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lagged) update(name string, data map[string]any) string {
	l.mu.Lock()
	l.written[name] = l.clock.now()
	l.mu.Unlock()
	version, err := l.srv.Update("configmaps", named(name, data))
	if err != nil {
		l.t.Fatal(err)
	}
	return version
}

// changeOthers changes every object but the bad one, in batches, and waits for each.
func (l *lagged) changeOthers() {
	l.t.Helper()
	l.round++
	for i := range 999 {
		name := fmt.Sprintf("c%03d", i)
		version := l.update(name, map[string]any{"n": fmt.Sprint(l.round)})
		if i%100 == 98 {
			l.await("default/"+name, version, time.Minute)
			l.breath()
		}
	}
}

func (l *lagged) changeOthersDuringAnAsk() {
	l.t.Helper()
	l.nextAsk()
	l.changeOthers()
	l.endAsk()
}

// expect compares how many objects are held, and whether the bad one is set aside.
func (l *lagged) expect(when string, held int, aside bool) {
	l.t.Helper()
	if got := l.store.Len(); got != held {
		l.t.Errorf("%s: %d objects are held, want %d", when, got, held)
	}
	is := slices.ContainsFunc(l.Status().Quarantined, func(q reflector.Quarantined) bool { return q.Meta.Key == "default/bad" })
	if is != aside {
		l.t.Errorf("%s: in quarantine: %t, want %t", when, is, aside)
	}
}
