package controller

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/internal/writes"
	"github.com/relist-go/relist/object"
)

// worldOptions are the world of a story.
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
