package simulation

import (
	"fmt"
	"net/http"
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
		net := serveMemory(t, beforeAsksOfBad(srv, func() {
			asks.Add(1)
			<-time.After(3 * time.Second)
		}))
		newLagged(t, srv).run(transport.Config{Server: "http://relist.test", Dial: net.dial})
		if n := asks.Load(); n < 2 {
			t.Errorf("the bad object was asked for %d times while the others changed, want 2 at least", n)
		}
	})
}

// beforeAsksOfBad serves what srv does, and calls wait before a list of the bad object alone.
func beforeAsksOfBad(srv http.Handler, wait func()) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.Contains(req.URL.Query().Get("fieldSelector"), "metadata.name=bad") {
			wait()
		}
		srv.ServeHTTP(w, req)
	})
}

// lagged is a mirror and how long each change took to reach it.
type lagged struct {
	*mirror

	t     *testing.T
	srv   *apitest.Server
	round int

	mu      sync.Mutex
	written map[string]time.Time // when each object's last change was begun
	n       int                  // changes, without the first list
	worst   time.Duration
	story   []string // of the bad object
}

func newLagged(t *testing.T, srv *apitest.Server) *lagged {
	return &lagged{t: t, srv: srv, written: map[string]time.Time{}}
}

// run plays the story of the bad object, and judges the lag of the others.
func (l *lagged) run(cfg transport.Config) {
	const objects = 1000
	t := l.t
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

	l.changeOthers()
	l.expect("after changes of others", objects-1, true)
	l.update("bad", broken)
	l.changeOthers()
	l.expect("after a change", objects-1, true)
	repaired := l.update("bad", good)
	l.changeOthers()
	l.expect("repaired", objects, false)
	l.update("bad", broken)
	l.changeOthers()
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
	now := time.Now()
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
		l.worst = max(l.worst, now.Sub(l.written[obj.Name]))
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
	l.written[name] = time.Now()
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
			<-time.After(400 * time.Millisecond) // so that the bad object is asked for meanwhile
		}
	}
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
