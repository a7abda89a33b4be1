package watchcache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/relist-go/relist/internal/must"
)

// filled returns a cache at version 10 without objects.
func filled(t *testing.T, opts Options) *Cache {
	t.Helper()
	c := New(opts)
	must.OK(t, c.Fill(10, nil))
	return c
}

func at(version uint64) thing {
	return thing{namespace: "a", name: "m", color: "red", version: version}
}

// TestWindow shows which changes the window keeps, and from which version on a watch can begin.
func TestWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := filled(t, Options{MinEvents: 2, MaxEvents: 8, Fresh: time.Minute})
		version := uint64(10)
		write := func(n int, every time.Duration) {
			for range n {
				<-time.After(every)
				version++
				c.Apply(at(version), false)
			}
		}
		check := func(oldest uint64, changes int) {
			t.Helper()
			if o, n := c.Window(); o != oldest || n != changes {
				t.Errorf("at %d, the window has %d changes from %d on; want %d from %d on", version, n, o, changes, oldest)
			}
			if _, err := c.Watch(t.Context(), WatchQuery{Version: oldest}); err != nil {
				t.Errorf("watch at %d: %v", oldest, err)
			}
			_, err := c.Watch(t.Context(), WatchQuery{Version: oldest - 1})
			if want := fmt.Sprintf("too old resource version: %d (%d)", oldest-1, oldest); !apierrors.IsResourceExpired(err) || err.Error() != want {
				t.Errorf("watch at %d: %v, want %s", oldest-1, err, want)
			}
		}
		check(10, 0)
		write(6, time.Second)
		check(10, 6) // all are fresh
		write(6, time.Second)
		check(14, 8) // it is as large as it may be
		write(1, 58*time.Second)
		check(19, 4) // those of the last minute
		write(6, 61*time.Second)
		check(27, 2) // all but one are old, and two stay
		write(6, time.Second)
		<-time.After(24 * time.Hour)
		check(28, 7)
		c.Progress(50) // a bookmark, and nothing has changed
		check(33, 2)
		c.Forget()
		check(50, 2)
	})
}

// TestWaitEnds shows that a wait for a version ends with its context.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := filled(t, Options{}).WaitFor(ctx, 14); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// TestWakes shows which watches a change wakes. TestEveryStateIsTheSources shows that no watch
// sleeps through a change that it selects.
func TestWakes(t *testing.T) {
	t.Parallel()
	changes := []thing{
		{namespace: "a", name: "m", color: "red", version: 11},
		{namespace: "a", name: "m", color: "blue", version: 12},
		{namespace: "a", name: "n", color: "red", version: 13},
		{namespace: "b", name: "m", color: "blue", version: 14},
	}
	name, node := fields.OneTermEqualSelector("metadata.name", "m"), func(color string) fields.Selector {
		return fields.OneTermEqualSelector("spec.nodeName", color)
	}
	for _, tt := range []struct {
		sel  Selection
		want string
	}{
		{Selection{}, "11 12 13 14"},
		{Selection{Namespace: "a"}, "11 12 13"},
		{Selection{Fields: name}, "11 12 14"},
		{Selection{Namespace: "a", Fields: name}, "11 12"},
		{Selection{Fields: node("red")}, "11 12 13"},
		{Selection{Namespace: "b", Fields: node("blue")}, "14"},
		{Selection{Fields: node("")}, ""},
		{Selection{Namespace: "a", Labels: labels.Nothing()}, "11 12 13"},
	} {
		c := filled(t, Options{})
		w, err := c.Watch(t.Context(), WatchQuery{Selection: tt.sel, Version: 10})
		must.OK(t, err)
		var woken []string
		for _, o := range changes {
			changed := w.Changed()
			c.Apply(o, false)
			select {
			case <-changed:
				woken = append(woken, format(o.version))
			default:
			}
		}
		if got := strings.Join(woken, " "); got != tt.want {
			t.Errorf("a watch of %+v wakes at %q, want %q", tt.sel, got, tt.want)
		}
		w.Close()
		w.Close()
		if len(c.signals) > 0 {
			t.Errorf("the cache waits for a watch of %+v, which is closed", tt.sel)
		}
	}
}

// TestNextOfNothing shows that a limit of 0 loses nothing: a program that takes the length of the
// window as the limit may find it longer.
func TestNextOfNothing(t *testing.T) {
	t.Parallel()
	c := filled(t, Options{})
	w, err := c.Watch(t.Context(), WatchQuery{Version: 10})
	must.OK(t, err)
	c.Apply(at(11), false)
	for limit := range 2 {
		events, more, err := w.Next(limit)
		if len(events) != limit || more != (limit == 0) || err != nil {
			t.Errorf("the next %d: %v, more: %v, %v", limit, events, more, err)
		}
	}
}

// counted is a form that counts how often it writes.
type counted struct{ n *int }

func (counted) ID() string { return "counted" }

func (f counted) AppendEvent(b []byte, typ EventType, o Object) []byte {
	*f.n++
	return fmt.Appendf(b, "%s %s\n", typ, o)
}

// TestEventIsEncodedOnce shows that watchers share the bytes of an event.
func TestEventIsEncodedOnce(t *testing.T) {
	t.Parallel()
	c := filled(t, Options{})
	var watchers []*Watcher
	for range 1000 {
		w, err := c.Watch(t.Context(), WatchQuery{Version: 10})
		must.OK(t, err)
		watchers = append(watchers, w)
	}
	c.Apply(at(11), false)
	n := 0
	for _, w := range watchers {
		events, _, err := w.Next(10)
		if err != nil || len(events) != 1 || string(events[0].Frame(counted{&n})) != "ADDED a/m@11 red\n" {
			t.Fatalf("%v, %v", events, err)
		}
	}
	if n != 1 {
		t.Errorf("the event was encoded %d times", n)
	}
}
