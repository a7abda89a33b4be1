package sinks

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/must"
)

// world is a server whose objects change, and what it had at each version.
type world struct {
	t      *testing.T
	server *server
	bad    string // is in an object that the database cannot store
	quiet  int

	mu        sync.Mutex // held during a change and its note
	dice      *rand.Rand
	live      map[string]object
	histories []*history
	backup    uint64 // the version of the newest one
	restores  int
	restored  bool // and some copy has not found out
}

// history is what a server had. A restored backup begins another one, in which versions come again.
type history struct {
	base  uint64
	start map[string]object
	log   []entry
}

// entry is a change.
type entry struct {
	version uint64
	key     string
	gone    bool
	object  object
}

// at returns the objects at a version.
func (h *history) at(version uint64) map[string]object {
	state := maps.Clone(h.start)
	for _, e := range h.log {
		switch {
		case e.version > version:
			return state
		case e.gone:
			delete(state, e.key)
		default:
			state[e.key] = e.object
		}
	}
	return state
}

// busy is the number of objects that are often changed. Quiet ones make a list long.
const busy = 30

// newWorld makes quiet objects.
func newWorld(t *testing.T, s *server, seed uint64, bad string, quiet int) *world {
	t.Helper()
	w := &world{t: t, server: s, bad: bad, quiet: quiet, dice: rand.New(rand.NewPCG(seed, 14)), live: map[string]object{}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("this was seed %d", seed)
		}
	})
	w.histories = []*history{{start: map[string]object{}}}
	for i := range quiet {
		w.put(fmt.Sprintf("quiet-%03d", i), strconv.Itoa(i))
	}
	return w
}

// roll returns a random number below n.
func (w *world) roll(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dice.IntN(n)
}

// wait waits for a random time below d.
func (w *world) wait(d time.Duration) {
	<-time.After(time.Duration(w.roll(int(d/time.Microsecond))) * time.Microsecond)
}

func (w *world) now() *history { return w.histories[len(w.histories)-1] }

// put writes an object and notes it. It is called with w.mu held, or before there is another
// goroutine.
func (w *world) put(name, value string) {
	key := "default/" + name
	found := w.server.put(name, map[string]any{"value": value, "more": "a<b & \"c\" é"})
	found.refused = strings.Contains(value, "refuse me") || w.bad != "" && strings.Contains(value, w.bad)
	version := number(w.t, found.version)
	w.live[key] = found
	h := w.now()
	h.log = append(h.log, entry{version: version, key: key, object: found})
}

func (w *world) remove(name string) {
	version := w.server.remove(name)
	delete(w.live, "default/"+name)
	h := w.now()
	h.log = append(h.log, entry{version: version, key: "default/" + name, gone: true})
}

// change changes one object. While a copy may not know of a restored backup, only objects change
// that were not there before: if the newest objects of the old history are written again before the
// program looks at them, nobody can tell the two apart.
func (w *world) change() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changeLocked()
}

func (w *world) changeLocked() {
	name := fmt.Sprintf("busy-%02d", w.dice.IntN(busy))
	if w.dice.IntN(12) == 0 {
		name = fmt.Sprintf("quiet-%03d", w.dice.IntN(w.quiet))
	}
	if w.restored {
		name = fmt.Sprintf("after-%d-%d", w.restores, w.dice.IntN(3))
	}
	_, exists := w.live["default/"+name]
	switch n := w.dice.IntN(30); {
	case n < 9 && exists && !strings.HasPrefix(name, "quiet"):
		w.remove(name)
	case n == 9:
		w.put(name, "refuse me "+strconv.Itoa(w.dice.IntN(1<<30)))
	case n == 10 && w.bad != "":
		w.put(name, w.bad+strconv.Itoa(w.dice.IntN(1<<30)))
	default:
		w.put(name, strconv.Itoa(w.dice.IntN(1<<30)))
	}
}

// churn changes objects until stop is called.
func (w *world) churn(most time.Duration) (stop func()) {
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stopped:
				return
			default:
				w.change()
				w.wait(most)
			}
		}
	}()
	return sync.OnceFunc(func() { close(stopped); <-done })
}

// compact makes versions expire.
func (w *world) compact() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.server.Compact()
}

// save makes a backup. Something is created after it, and stays: if the only difference were a
// deletion that a program has not seen, the program could not find out.
func (w *world) save() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.backup = number(w.t, w.server.ResourceVersion())
	w.put(fmt.Sprintf("mark-%d-%d", w.restores, w.backup), "")
}

// restore restores the newest backup, after the server has been away for some time.
func (w *world) restore(away time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.server.away()
	<-time.After(away)
	must.OK(w.t, w.server.Restore(apitest.Restore{ResourceVersion: strconv.FormatUint(w.backup, 10)}))
	state := w.now().at(w.backup)
	w.histories = append(w.histories, &history{base: w.backup, start: state})
	w.live = maps.Clone(state)
	w.restores++
	w.restored = true
	for range w.dice.IntN(60) {
		w.changeLocked()
	}
	w.server.back()
	w.exact()
	w.changeLocked()
}

// exact gets the bytes of the objects that were written while the server was away.
func (w *world) exact() {
	h := w.now()
	for i := range h.log {
		e := &h.log[i]
		if !e.object.inexact || w.live[e.key].version != e.object.version {
			continue
		}
		status, answer := w.server.get(path + strings.TrimPrefix(e.key, "default"))
		if status == 200 {
			e.object.json, e.object.inexact = parse(w.t, answer).json, false
			w.live[e.key] = e.object
		}
	}
}

// refusedAround returns the keys of objects that were refused at a version, or at one of 2,000
// changes before it or after it.
func (h *history) refusedAround(version uint64) map[string]bool {
	keys := map[string]bool{}
	for key, o := range h.at(version) {
		if o.refused {
			keys[key] = true
		}
	}
	i, _ := slices.BinarySearchFunc(h.log, version, func(e entry, v uint64) int {
		if e.version < v {
			return -1
		}
		return 1
	})
	for _, e := range h.log[max(0, i-2000):] {
		if e.object.refused {
			keys[e.key] = true
		}
	}
	return keys
}
