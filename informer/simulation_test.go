package informer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/object"
)

// TestSimulation plays random histories, with gaps in the watch, to handlers that come and go, some of them slow. Each
// keeps a copy of what it is told. It must never be told something impossible, the store must be ahead of it, and in the
// end its copy is what the server holds.
func TestSimulation(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 50
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func simulate(t *testing.T, seed uint64) {
	dice := rand.New(rand.NewPCG(seed, 0))
	key := func() string { return fmt.Sprint("ns/", dice.IntN(6)) }
	f := newFake(key(), key(), key())
	r := newRig(t, f, informer.Options[*thing]{})
	var mirrors []*mirror
	join := func() {
		m := &mirror{t: t, rig: r, copy: map[string]*thing{}}
		if dice.IntN(2) == 0 {
			m.pause = time.Duration(dice.IntN(5000)) * time.Millisecond
		}
		m.mu.Lock() // a callback may be called before add returns
		m.reg = r.add(m.handler())
		m.mu.Unlock()
		mirrors = append(mirrors, m)
	}
	change := func() {
		if dice.IntN(3) == 0 {
			f.Remove(key())
		} else {
			f.set(key(), dice.IntN(1000))
		}
	}
	for range dice.IntN(3) {
		join()
	}
	r.start()
	for range 60 {
		switch dice.IntN(12) {
		case 0:
			join()
		case 1:
			if n := len(mirrors); n > 0 {
				m := mirrors[dice.IntN(n)]
				if err := m.reg.Remove(t.Context()); err != nil {
					t.Error(err)
				}
				m.retire()
			}
		case 2:
			f.Gap(func() {
				for range dice.IntN(4) {
					change()
				}
			})
		case 3:
			later(time.Duration(dice.IntN(4000)) * time.Millisecond)
		case 4:
			synctest.Wait()
		default:
			change()
		}
	}
	later(time.Hour)
	r.agree()
	for i, m := range mirrors {
		if got, want := m.state(), f.state(); !m.retired && !slices.Equal(got, want) {
			t.Errorf("handler %d has\n\t%q\nserver\n\t%q", i, got, want)
		}
		if !m.retired && (!m.reg.HasSynced() || m.reg.Pending() != 0) {
			t.Errorf("handler %d: synced %v, %d pending", i, m.reg.HasSynced(), m.reg.Pending())
		}
	}
}

// mirror is a handler that keeps a copy.
type mirror struct {
	t     *testing.T
	rig   *rig
	reg   *informer.Registration
	pause time.Duration

	mu      sync.Mutex
	copy    map[string]*thing
	retired bool
}

func (m *mirror) handler() informer.Handler[*thing] {
	return informer.Handler[*thing]{
		OnAdd: func(obj *thing, initial bool) {
			m.told("add", obj, nil, obj)
			m.mu.Lock()
			defer m.mu.Unlock()
			if initial && m.reg.HasSynced() {
				m.t.Errorf("initial add of %s after synced", obj.Name)
			}
		},
		OnUpdate: func(old, obj *thing) { m.told("update", obj, old, obj) },
		OnDelete: func(obj *thing, _ bool) { m.told("delete", obj, obj, nil) },
	}
}

// told checks that what is said is possible, and applies it.
func (m *mirror) told(what string, obj, before, after *thing) {
	if m.pause > 0 {
		later := time.NewTimer(m.pause)
		<-later.C
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := object.Key(obj)
	known := m.copy[key]
	switch {
	case m.retired:
		m.t.Errorf("%s of %s after Remove returned", what, key)
	case (known == nil) != (before == nil):
		m.t.Errorf("%s of %s, of which the handler knows %v", what, key, known)
	case known != nil && known.UID != before.UID:
		m.t.Errorf("%s of %s %s, of which the handler knows %s", what, key, before.UID, known.UID)
	case what == "update" && (known.ResourceVersion != before.ResourceVersion || known.UID != after.UID):
		m.t.Errorf("update of %s from %s to %s %s; the handler knows %s", key, before.ResourceVersion, after.UID, after.ResourceVersion, known.ResourceVersion)
	}
	if current, ok := m.rig.Store().Get(key); ok && versionNumber(current) < versionNumber(obj) && what != "delete" {
		m.t.Errorf("%s of %s at %s, and the store is at %s", what, key, obj.ResourceVersion, current.ResourceVersion)
	}
	if after == nil {
		delete(m.copy, key)
	} else {
		m.copy[key] = after
	}
}

// versionNumber makes the versions of the fake comparable.
func versionNumber(obj *thing) string {
	return fmt.Sprintf("%012s", obj.ResourceVersion)
}

func (m *mirror) retire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.retired = true
}

func (m *mirror) state() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var items []*thing
	for _, obj := range m.copy {
		items = append(items, obj)
	}
	slices.SortFunc(items, func(a, b *thing) int { return strings.Compare(object.Key(a), object.Key(b)) })
	return describe(items)
}
