package simulation

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// Of 1,000 objects one cannot be decoded, is changed, repaired, broken again and
// deleted. It is set aside and its story is right; what happens to the other 999 is
// here within a second all the while.
//
// A run in which the machine was late itself is no measurement, and is made again.
func TestLagBesideAnUndecodableObject(t *testing.T) {
	for attempt := 1; ; attempt++ {
		var worst, stall time.Duration
		t.Run(fmt.Sprint(attempt), func(t *testing.T) {
			late := watchTheClock(t)
			worst = lagBesideAnUndecodableObject(t)
			stall = late()
		})
		switch {
		case worst <= time.Second:
			return
		case stall < 20*time.Millisecond || attempt == 5:
			t.Fatalf("a change was heard of %s after its commit, want a second at most; a timer was late by %s", worst, stall)
		}
	}
}

// watchTheClock returns a function that says by how much a timer was late at most.
func watchTheClock(t *testing.T) func() time.Duration {
	stop, worst := make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		var late time.Duration
		for {
			const pause = 5 * time.Millisecond
			began := time.Now()
			select {
			case <-time.After(pause):
				late = max(late, time.Since(began)-pause)
			case <-stop:
				worst <- late
				return
			}
		}
	}()
	end := sync.OnceValue(func() time.Duration {
		close(stop)
		return <-worst
	})
	t.Cleanup(func() { end() })
	return end
}

func lagBesideAnUndecodableObject(t *testing.T) (worst time.Duration) {
	const objects = 1000
	srv, url := apitest.Start(t, apitest.Options{})
	l := &lagged{t: t, srv: srv}
	for i := range objects - 1 {
		l.create(fmt.Sprintf("c%03d", i), map[string]any{"n": "0"})
	}
	// A number, where the client's type has text.
	broken, good := map[string]any{"n": 5}, map[string]any{"n": "5"}
	l.create("bad", broken)
	l.mirror = startMirror(t, configMaps(t, transport.Config{Server: url}), reflector.Options{}, l.hear)
	last, err := srv.Get("configmaps", "default", "c998")
	if err != nil {
		t.Fatal(err)
	}
	l.await("default/c998", last["metadata"].(map[string]any)["resourceVersion"].(string), time.Minute)
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
	if _, err := srv.Delete("configmaps", "default", "bad"); err != nil {
		t.Fatal(err)
	}
	l.changeOthers()
	l.expect("deleted", objects-1, false)

	l.checkHistory()
	l.mu.Lock()
	defer l.mu.Unlock()
	t.Logf("%d changes, the slowest %s after its commit", l.n, l.worst)
	// An event repairs it as a rule, but a Get may be quicker, and what it brings is new.
	byEvent, byGet := []string{"Updated " + repaired, "Deleted"}, []string{"Added " + repaired, "Deleted"}
	if !slices.Equal(l.story, byEvent) && !slices.Equal(l.story, byGet) {
		t.Errorf("the story of the bad object is %q, want %q", l.story, byEvent)
	}
	if l.n < 5*(objects-1) {
		t.Errorf("%d changes were heard of, want %d", l.n, 5*(objects-1))
	}
	return l.worst
}

// lagged is a mirror and how long each change took to reach it.
type lagged struct {
	*mirror
	t     *testing.T
	srv   *apitest.Server
	round int

	mu    sync.Mutex
	n     int // changes, without the first list
	worst time.Duration
	story []string // of the bad object
}

func (l *lagged) hear(typ deltafifo.Type, obj *configMap) {
	committed, ok := l.srv.CommitTime(obj.ResourceVersion)
	lag := time.Since(committed)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !ok:
		l.t.Errorf("the server never gave out version %s", obj.ResourceVersion)
	case obj.Name == "bad" && typ == deltafifo.Deleted:
		l.story = append(l.story, typ.String())
	case obj.Name == "bad":
		l.story = append(l.story, typ.String()+" "+obj.ResourceVersion)
	case typ == deltafifo.Updated:
		l.n++
		l.worst = max(l.worst, lag)
	default: // of the first list, whose objects are older
	}
}

func (l *lagged) create(name string, data map[string]any) {
	if _, err := l.srv.Create("configmaps", named(name, data)); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lagged) update(name string, data map[string]any) string {
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
			<-time.After(40 * time.Millisecond) // so that the bad object is fetched meanwhile
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
