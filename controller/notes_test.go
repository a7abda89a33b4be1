package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/writes"
	"github.com/relist-go/relist/object"
)

// TestNotesExplored plays all short stories of one object, a cache of it and one call that writes
// it. Each letter is a step:
//
//	w h x   the call writes the object, or hides it from the selector, or deletes it
//	n       the call writes what is there already
//	u U     the call writes it, and gets no answer; the server has made the write, or has not
//	o O     somebody else writes or deletes it
//	d       the cache gets its next event
//	r       the server is restored from a backup of the beginning, and the cache is not told
//	l       the cache lists by itself
//	t       a second passes
//
// The key is given only if the cache will never again show a state from before the writes, and it
// is given in the end.
func TestNotesExplored(t *testing.T) {
	depth := 5
	if testing.Short() {
		depth = 3
	}
	for _, opts := range worlds {
		t.Run(fmt.Sprintf("%+v", opts), func(t *testing.T) {
			played := explore(t, opts, depth, func(ctx context.Context, made []note) {
				for _, n := range made {
					n.await(ctx)
				}
			}, func(story, wrong string) (enough bool) { t.Errorf("%s: %s", story, wrong); return false })
			t.Logf("%d stories", played)
		})
	}
}

// The explorer finds what is wrong with simpler rules.
func TestNotesExploredWithoutARule(t *testing.T) {
	for _, plant := range []struct {
		name, wrong string
		await       func(ctx context.Context, made []note)
	}{
		{"no hold", "given at a state before", func(context.Context, []note) {}},
		{"the version alone", "given at a state before", func(ctx context.Context, made []note) {
			for _, n := range made {
				if n.Version != "" {
					_ = n.cache.WaitForVersion(ctx, n.Version)
				}
			}
		}},
		{"no look at restored backups", "given at a state before", func(ctx context.Context, made []note) {
			for _, n := range made {
				if n.Deleted || n.Unanswered || object.Older(n.cache.Version(), n.Version) {
					n.await(ctx)
				}
			}
		}},
		{"the last write alone", "given at a state before", func(ctx context.Context, made []note) { made[len(made)-1].await(ctx) }},
		{"no ask", "never given", func(ctx context.Context, made []note) {
			for _, n := range made {
				if n.state(n.cache.Sees(n.Write)) != has {
					n.event(ctx, 1000*time.Hour)
				}
			}
		}},
	} {
		t.Run(plant.name, func(t *testing.T) {
			found := ""
			explore(t, worlds[0], 4, plant.await, func(story, wrong string) (enough bool) {
				if strings.HasPrefix(wrong, plant.wrong) {
					found = story
				}
				return found != ""
			})
			if found == "" {
				t.Fatal("nothing was found")
			}
			t.Log(found)
		})
	}
}

// hung is the cache of a server that does not answer.
type hung struct{ *model }

func (hung) Ask(ctx context.Context, _ string) (version string, meta object.Meta, exists bool, err error) {
	<-ctx.Done()
	return "", object.Meta{}, false, ctx.Err()
}

// A server that does not answer keeps no key. The next call finds out.
func TestLostWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		n := note{Write: writes.Write{Key: "a"}, cache: hung{newModel(worlds[1])}, last: true}
		if !n.lost(t.Context()) {
			t.Error("the key does not come back")
		}
		if took := time.Since(began); took != askAfter {
			t.Errorf("it took %v", took)
		}
	})
}

// Many writes that a cache does not show keep a key no longer than one.
func TestManyHiddenWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(worlds[3])
		var made []note
		for _, step := range "whwhwhwh" {
			m.step(step, &made)
		}
		began := time.Now()
		for _, n := range made {
			n.await(t.Context())
		}
		if took := time.Since(began); took != askAfter {
			t.Errorf("it took %v", took)
		}
	})
}

// counting is a cache that counts its lists.
type counting struct {
	*model
	lists *int
}

func (c counting) Relist(ctx context.Context) error {
	*c.lists++
	return c.model.Relist(ctx)
}

// Many writes without an answer need one list.
func TestManyUnansweredWrites(t *testing.T) {
	lists := 0
	loggedIn(t, func(ctx context.Context, c *running) {
		m := newModel(worlds[1])
		var made []note
		for range 20 {
			m.step('U', &made)
		}
		for i := range made {
			made[i].cache = counting{m, &lists}
		}
		c.queue.Add("a")
		if _, err := c.queue.Get(ctx); err != nil {
			t.Error(err)
		}
		c.hold(ctx, "a", made)
	})
	if lists != 1 {
		t.Errorf("%d lists", lists)
	}
}

// slow is a cache that lists for some time.
type slow struct {
	hung
	name    string
	took    time.Duration
	failing error
}

func (s slow) Name() string   { return s.name }
func (s slow) Failing() error { return s.failing }

func (s slow) Relist(ctx context.Context) error {
	select {
	case <-time.After(s.took):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// loggedIn returns what f logs in a controller.
func loggedIn(t *testing.T, f func(ctx context.Context, c *running)) string {
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		c := &running{queue: NewQueue[string](QueueOptions{}), log: logger, failures: failureLog{logger: logger}}
		f(t.Context(), c)
		c.holding.Wait()
	})
	return log.String()
}

// Each cache that is late at the beginning is named, and the end is told when the last of them is
// there.
func TestSeveralLateCaches(t *testing.T) {
	got := loggedIn(t, func(ctx context.Context, c *running) {
		m := newModel(worlds[0])
		_ = c.catchUp(ctx, []goal{{cache: slow{hung{m}, "pods", 20 * time.Second, nil}}, {cache: slow{hung{m}, "nodes", 40 * time.Second, errors.New("away")}}})
	})
	for _, want := range []string{"cache=pods\n", "cache=nodes error=away\n", `msg="relist: reconcile recovered" key="" after=31s`} {
		if strings.Count(got, want) != 1 || strings.Count(got, "\n") != 3 {
			t.Errorf("want %s, logged\n%s", want, got)
		}
	}
}

// A term that ends before its caches are there leaves nothing behind: the next one tells it again.
func TestTermThatDoesNotBegin(t *testing.T) {
	got := loggedIn(t, func(ctx context.Context, c *running) {
		for range 2 {
			ctx, end := context.WithTimeout(ctx, 15*time.Second)
			parts := func() []writes.Cache { return []writes.Cache{slow{hung{newModel(worlds[0])}, "pods", time.Hour, nil}} }
			_ = c.term(ctx, 1, []Source{{parts: parts}})
			end()
		}
	})
	if strings.Count(got, `level=WARN msg="relist: reconcile waits for a cache"`) != 2 {
		t.Errorf("logged\n%s", got)
	}
}

// If more than ten keys wait, a line says so.
func TestManyKeysWait(t *testing.T) {
	got := loggedIn(t, func(ctx context.Context, c *running) {
		var waiting sync.WaitGroup
		for i := range maxNamed + 2 {
			waiting.Go(func() {
				c.during(ctx, newModel(worlds[0]), fmt.Sprint(i), new(atomic.Int32), func() { <-time.After(waitReport + 1) })
			})
		}
		waiting.Wait()
	})
	if strings.Count(got, `msg="relist: reconcile failed for more keys"`) != 1 {
		t.Errorf("logged\n%s", got)
	}
}
