package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// marks is a store that writes down what it is told of versions.
type marks struct {
	reflector.Memory[partial]

	mu   sync.Mutex
	told []string
}

func (m *marks) At(version string, _ func() reflector.Point) { m.note("at " + version) }

func (m *marks) note(line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told = append(m.told, line)
}

func (m *marks) take() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() { m.told = nil }()
	return strings.Join(m.told, ", ")
}

func configMap(name, version string) partial { return newPartial(name, "uid", version) }

// points is a store that writes down what it is told of points.
type points struct {
	marks
	last reflector.Point
}

func (p *points) At(version string, point func() reflector.Point) {
	at := point()
	p.last = at
	line := "at " + version + ", point " + at.Version
	for _, n := range at.Newest {
		line += fmt.Sprintf(" %s@%s", n.Meta.Key, n.Meta.ResourceVersion)
		if n.Gone {
			line += " gone"
		}
	}
	if len(at.Unsure) > 0 {
		line += " unsure: " + strings.Join(at.Unsure, " ")
	}
	p.note(line)
}

func (p *points) Apply(c reflector.Change[partial]) error {
	if c.Op == protocol.Resumed {
		p.note("resumed")
	}
	return p.Memory.Apply(c)
}

func newPoints(objects ...partial) *points {
	held := store.New(store.Options[partial]{})
	for _, obj := range objects {
		_ = held.Add(obj)
	}
	return &points{marks: marks{Memory: reflector.InMemory(held)}}
}

// follow runs a reflector until stop is called.
func follow(t *testing.T, server *scripted, sink reflector.Sink[partial], start reflector.Point) (r *reflector.Reflector[partial], stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r = reflector.New(server, sink, reflector.Options{Start: start, Rand: func() float64 { return 0 }})
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	return r, func() {
		t.Helper()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	}
}

// A sink is told where it can be saved, and what is in quarantine is unsure there.
func TestSinkIsToldWhereItCanBeSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newScripted()
		server.list = func(metav1.ListOptions) (*source.Page[partial], error) {
			return pageOf("10", configMap("a", "5"), configMap("b", "6")), nil
		}
		server.ask = func(context.Context, string) (*source.Page[partial], error) {
			return pageOf("20", configMap("a", "11")), nil
		}
		sink := newPoints()
		_, stop := follow(t, server, sink, reflector.Point{})
		told := func(want string) {
			t.Helper()
			synctest.Wait()
			if got := sink.take(); got != want {
				t.Errorf("the sink was told %q\nwant %q", got, want)
			}
		}
		told("at 10, point 10 b@6 a@5")
		watch := <-server.streams
		watch.undecodable(object.Modified, configMap("a", "11"))
		told("at 11, point 11 a@11 b@6 a@5 unsure: a")
		watch.event(object.Deleted, configMap("b", "12"))
		told("at 12, point 12 b@12 gone a@11 b@6 a@5 unsure: a")

		// An answer as of 20 is ahead of the watch, so that the key stays unsure until the watch is
		// there.
		<-time.After(2 * time.Second)
		told("at 12, point 12 b@12 gone a@11 b@6 a@5 unsure: a")
		watch.bookmark("20")
		told("at 20, point 20 b@12 gone a@11 b@6 a@5")
		stop()
	})
}

// If a point does not name the newest objects, the newest one that the sink holds at or below the
// version is asked for. Those above the version are unsure.
func TestNewestObjectsAreLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newScripted() // its lists are empty
		server.ask = func(context.Context, string) (*source.Page[partial], error) {
			return pageOf("40", configMap("c", "30")), nil
		}
		sink := newPoints(configMap("a", "5"), configMap("b", "31"), configMap("c", "30"), configMap("d", "7"))
		r, stop := follow(t, server, sink, reflector.Point{Version: "30"})
		synctest.Wait()
		if got, want := strings.Join(server.asks, " "), "c"; got != want {
			t.Errorf("asked for %q, want %q", got, want)
		}
		if q := r.Status().Quarantined; len(q) != 1 || q[0].Meta.Key != "b" {
			t.Errorf("in quarantine is %v, want b", q)
		}
		stop()
	})
}

// A saved copy stays as old as it is while no watch has brought anything. A server accepts a watch
// of an expired version, and then says that it is gone.
func TestStalenessOfASavedCopy(t *testing.T) {
	for _, accepted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			begin, server := time.Now(), newScripted()
			saved, sink := begin.Add(-5*time.Hour), newPoints(configMap("a", "5"))
			server.list = func(metav1.ListOptions) (*source.Page[partial], error) { return nil, errors.New("away") }
			if !accepted {
				server.watch = func(metav1.ListOptions) error { return errors.New("away") }
			}
			r, stop := follow(t, server, sink, reflector.Point{Version: "30", Current: saved})
			if accepted {
				watch := <-server.streams
				<-time.After(3 * time.Second)
				watch.events <- apierrors.NewResourceExpired("too old")
			}
			<-time.After(time.Until(begin.Add(time.Minute)))
			if age, want := r.Status().Staleness(time.Now()), 5*time.Hour+time.Minute; age != want {
				t.Errorf("staleness is %v if watches are accepted is %v, want %v", age, accepted, want)
			}
			stop()
			if accepted != (sink.last.Version == "30") || accepted && !sink.last.Current.Equal(saved) {
				t.Errorf("if watches are accepted is %v, the copy would be saved as %s of %v, want 30 of %v", accepted, sink.last.Version, sink.last.Current, saved)
			}
		})
	}
	// The clock was set back since, so nobody knows how old the copy is.
	now := time.Now()
	clockBack := reflector.Status{Started: now, StartCurrent: now.Add(5 * time.Hour)}
	if age := clockBack.Staleness(now.Add(time.Minute)); age != time.Minute {
		t.Errorf("staleness is %v, want the time since Run was called: 1m", age)
	}
}

// A reflector cannot continue with a sink that does not say what it holds.
func TestStartNeedsASinkThatTells(t *testing.T) {
	sink := reflector.Sink[partial](struct{ reflector.Sink[partial] }{newPoints()})
	r := reflector.New(newScripted(), sink, reflector.Options{Start: reflector.Point{Version: "30"}})
	if err := r.Run(t.Context()); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v", err)
	}
}
