package controller

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

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
	name string
	took time.Duration
}

func (s slow) Name() string { return s.name }

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
		_ = c.catchUp(ctx, []goal{{cache: slow{hung{m}, "pods", 20 * time.Second}}, {cache: slow{hung{m}, "nodes", 40 * time.Second}}})
	})
	for _, want := range []string{"cache=pods", "cache=nodes", `msg="relist: reconcile recovered" key="" after=31s`} {
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
			parts := func() []writes.Cache { return []writes.Cache{slow{hung{newModel(worlds[0])}, "pods", time.Hour}} }
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

type worldOptions struct {
	exists  bool         // at the beginning
	sight   writes.Sight // of what is shown
	prefix  string       // of versions, which are opaque with one
	cleared string       // by a Transform: uid, version or nothing
}

var worlds = []worldOptions{
	{true, writes.Shown, "", ""},
	{false, writes.Shown, "", ""},
	{true, writes.Unsure, "", ""},
	{false, writes.Unsure, "", ""},
	{true, writes.Shown, "v", ""},
	{true, writes.Shown, "", "uid"},
	{false, writes.Shown, "", "version"},
	{false, writes.Shown, "v", "version"},
}

// explore plays stories, and each of them with each further step, until report has enough.
func explore(t *testing.T, opts worldOptions, depth int, await func(context.Context, []note), report func(story, wrong string) (enough bool)) (played int) {
	enough := false
	var extend func(story string)
	extend = func(story string) {
		if enough {
			return
		}
		wrote := strings.ContainsAny(story, "whxnuU")
		if wrote {
			played++
		}
		possible, wrong := true, ""
		synctest.Test(t, func(t *testing.T) { possible, wrong = play(t.Context(), opts, story, await) })
		if wrong != "" {
			enough = report(story, wrong)
		}
		if !possible || wrong != "" || len(story) == depth {
			return
		}
		for _, step := range "whxnuUoOdrlt" {
			extend(story + string(step))
		}
	}
	extend("")
	return played
}

// play plays a story. It is not possible if its last step would change nothing.
func play(ctx context.Context, opts worldOptions, story string, await func(context.Context, []note)) (possible bool, wrong string) {
	w := newModel(opts)
	last := strings.LastIndexAny(story, "whxnuU")
	var made []note
	given := make(chan struct{})
	possible = true
	for i, step := range story {
		possible = w.step(step, &made)
		if i == last && possible {
			go func() { await(ctx, made); close(given) }()
		}
		synctest.Wait()
		if i < len(story)-1 && isClosed(given) {
			return false, "" // played already
		}
	}
	if !possible || last < 0 {
		return possible, ""
	}
	select {
	case <-given:
	case <-time.After(time.Hour):
		if w.at.history != w.history {
			w.step('l', &made) // a cache notices a restored backup
		}
		for w.step('d', &made) { // what comes by itself
			synctest.Wait()
		}
		if <-time.After(time.Hour); !isClosed(given) {
			w.step('l', &made) // so that no goroutine stays
			synctest.Wait()
			return possible, "never given"
		}
	}
	return possible, w.behind(made)
}

// model is a server with one object, and a cache of it.
type model struct {
	worldOptions
	mu     sync.Mutex
	change chan struct{}

	log     []modelState // of the present history; an object that was not changed is in it once
	rev     int
	uids    int
	history int // how often a backup was restored
	writes  []stamp
	made    types.UID // of the object that the call has made

	store  modelState // of the cache, as far as it is shown
	passed int
	at     stamp // what the cache has
}

type modelState struct {
	exists, hidden bool
	rev            int
	uid            types.UID
}

// stamp is a place in a history.
type stamp struct{ history, index int }

func (s modelState) shown() modelState {
	if s.hidden {
		return modelState{}
	}
	return s
}

func newModel(opts worldOptions) *model {
	m := &model{worldOptions: opts, change: make(chan struct{}), rev: 10, passed: 10, log: []modelState{{}}}
	if opts.exists {
		m.log[0] = modelState{exists: true, rev: 10, uid: "u"}
	}
	m.store = m.log[0]
	return m
}

func (m *model) now() modelState { return m.log[len(m.log)-1] }

// set adds a state to the history.
func (m *model) set(s modelState) {
	m.rev++
	if s.exists {
		s.rev = m.rev
	}
	if s.exists && s.uid == "" {
		m.uids++
		s.uid = types.UID(fmt.Sprint("u", m.history, "-", m.uids))
	}
	m.log = append(m.log, s)
}

func (m *model) format(rev int) string { return fmt.Sprint(m.prefix, rev) }

// step takes a step, and returns whether it has changed anything.
func (m *model) step(step rune, made *[]note) bool {
	if step == 't' {
		<-time.After(askAfter)
		return true
	}
	before := noteOf(writes.Write{Key: "a"}, m)
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() {
		close(m.change)
		m.change = make(chan struct{})
	}()
	now := m.now()
	knows := m.made == now.uid || m.store.uid == now.uid // the call deletes and hides what it knows
	w := writes.Write{Key: "a", Labeled: true}
	switch step {
	case 'w', 'u':
		created := !now.exists
		now.exists, now.hidden = true, false
		m.set(now)
		if created {
			m.made = m.now().uid
		}
	case 'h':
		if !knows || !now.exists || now.hidden || m.history > 0 && m.sight == writes.Unsure { // it may have the version of a lost state
			return false
		}
		now.hidden = true
		m.set(now)
	case 'x':
		if !knows || !now.exists {
			return false
		}
		w.Deleted, w.UID = true, now.uid
		m.set(modelState{})
	case 'n':
		if !now.exists {
			return false
		}
	case 'o':
		if now.hidden {
			return false
		}
		now.exists = true
		m.set(now)
		return true
	case 'O':
		if !now.exists {
			return false
		}
		m.set(modelState{})
		return true
	case 'd':
		if m.at.history != m.history || m.at.index+1 == len(m.log) {
			return false
		}
		m.at.index++
		m.store, m.passed = m.log[m.at.index].shown(), 10+m.at.index
		return true
	case 'r':
		if m.history > 0 || len(m.log) == 1 {
			return false
		}
		m.history++
		m.log, m.rev = m.log[:1:1], 10
		return true
	case 'l':
		if m.at == (stamp{m.history, len(m.log) - 1}) {
			return false
		}
		m.list()
		return true
	}
	w.Unanswered = step == 'u' || step == 'U'
	if is := m.now(); !w.Unanswered && !w.Deleted {
		w.UID, w.Version = is.uid, m.format(is.rev)
		if is.hidden {
			w.Labels = map[string]string{"hidden": ""}
		}
	}
	n := notes{made: *made}
	n.add([]note{before}, w)
	*made = n.made
	m.writes = append(m.writes, stamp{m.history, len(m.log) - 1})
	return true
}

// list lets the cache have the present. It needs mu.
func (m *model) list() {
	m.at = stamp{m.history, len(m.log) - 1}
	m.store, m.passed = m.now().shown(), m.rev
}

// behind says in what the cache lacks a write.
func (m *model) behind(made []note) string {
	for i, w := range m.writes {
		if w.history < m.history { // it was lost
			continue
		}
		has := false
		for _, later := range m.log[w.index:] {
			has = has || later.shown() == m.store
		}
		if m.at.history == m.history && m.sight == writes.Shown && m.prefix == "" { // what is hidden may once have been shown
			for next := m.at.index + 1; next < w.index; next++ {
				has = has && m.log[next-1].shown() == m.log[next].shown()
			}
		}
		if !has {
			return fmt.Sprintf("given at a state before write %d of %d: %+v", i+1, len(made), m.store)
		}
	}
	return ""
}

func (m *model) Name() string { return "model" }

func (m *model) Sees(w writes.Write) writes.Sight {
	if len(w.Labels) > 0 && m.sight == writes.Shown {
		return writes.Hidden
	}
	return m.sight
}

func (m *model) Version() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.format(m.passed)
}

func (m *model) Get(key string) (object.Meta, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	meta, exists := m.meta(key, m.store)
	switch m.cleared {
	case "uid":
		meta.UID = ""
	case "version":
		meta.ResourceVersion = ""
	}
	return meta, exists
}

func (m *model) meta(key string, s modelState) (object.Meta, bool) {
	if !s.exists {
		return object.Meta{Key: key}, false
	}
	return object.Meta{Key: key, UID: s.uid, ResourceVersion: m.format(s.rev)}, true
}

func (m *model) WaitForVersion(ctx context.Context, version string) error {
	return m.WaitUntil(ctx, "", func() bool { return !newer(version, m.Version()) })
}

func (m *model) WaitUntil(ctx context.Context, _ string, holds func() bool) error {
	for {
		m.mu.Lock()
		change := m.change
		m.mu.Unlock()
		if holds() {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *model) Ask(_ context.Context, key string) (string, object.Meta, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	meta, exists := m.meta(key, m.now().shown())
	return m.format(m.rev), meta, exists, nil
}

func (m *model) Relist(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list()
	close(m.change)
	m.change = make(chan struct{})
	return nil
}

func (m *model) Failing() error { return nil }
