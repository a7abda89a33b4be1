package deltafifo_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/deltafifo"
)

// model implements the rules of the queue in the simplest way: it searches slices.
type model struct {
	coalesce   bool
	known      []modelState // by key
	queue      []modelEntry
	processing *modelState // what its key will be
	listed     bool

	step   int // the one at hand
	begun  int // modelEntry.at of what is being processed
	marks  []modelMark
	failed map[string]int // modelEntry.at of what failed
	passed int            // how many of marks
}

// modelMark is a mark behind the entries that were queued until a step.
type modelMark struct {
	step    int
	version string
}

// mark adds a mark behind all entries.
func (m *model) mark(version string) {
	m.marks = append(m.marks, modelMark{m.step, version})
	m.pass()
}

// pass returns the newest mark whose entries have all been processed. While process has failed for
// an object, it returns the same mark as before.
func (m *model) pass() string {
	for i, mark := range m.marks {
		before := func(at int) bool { return at <= mark.step }
		waits := slices.ContainsFunc(m.queue, func(e modelEntry) bool { return before(e.at) })
		if !waits && (m.processing == nil || !before(m.begun)) && len(m.failed) == 0 {
			m.passed = max(m.passed, i+1)
		}
	}
	if m.passed == 0 {
		return ""
	}
	return m.marks[m.passed-1].version
}

// forgetFailures removes failures of objects that are gone.
func (m *model) forgetFailures(key string) {
	future, pending := m.future(key)
	if !pending && future.gone {
		delete(m.failed, key)
		m.pass()
	}
}

// modelState is an object, or the lack of one, under a key.
type modelState struct {
	key, uid, version string
	gone              bool
}

// another reports whether two states are of two objects. A UID that is missing says nothing.
func (s modelState) another(o modelState) bool { return s.uid != "" && o.uid != "" && s.uid != o.uid }

type modelDelta struct {
	what string
	life int // which of the objects under its key, counted from the first that is queued
	modelState
}

type modelEntry struct {
	deltas  []modelDelta
	initial bool
	at      int // the step at which it was queued
}

func (e *modelEntry) key() string      { return e.deltas[0].key }
func (e *modelEntry) last() modelDelta { return e.deltas[len(e.deltas)-1] }

func (m *model) push(s modelState, what string, initial bool) {
	s.gone = strings.HasPrefix(what, "Deleted")
	delta := modelDelta{what: what, modelState: s}
	i := slices.IndexFunc(m.queue, func(e modelEntry) bool { return e.key() == s.key })
	if i < 0 {
		m.queue = append(m.queue, modelEntry{[]modelDelta{delta}, initial, m.step})
		return
	}
	e := &m.queue[i]
	e.initial = e.initial || initial
	last := e.last()
	delta.life = last.life
	if s.gone && last.gone {
		if last.what == "Deleted?" && !last.another(s) {
			e.deltas[len(e.deltas)-1] = delta
		}
		return
	}
	if last.gone || last.another(s) {
		delta.life++
	}
	e.deltas = append(e.deltas, delta)
	if m.coalesce {
		e.deltas = coalesced(e.deltas)
	}
}

// coalesced returns the deltas that stay in an entry. Like the rule, it treats the objects one
// after the other.
func coalesced(deltas []modelDelta) []modelDelta {
	var lives [][]modelDelta
	for i, d := range deltas {
		if i == 0 || deltas[i-1].life != d.life {
			lives = append(lives, nil)
		}
		n := len(lives) - 1
		lives[n] = append(lives[n], d)
	}
	ends := func(life []modelDelta) bool { return life[len(life)-1].gone }
	for i := 1; i < len(lives); i++ {
		switch n := len(lives[i]); {
		case ends(lives[i]) && ends(lives[i-1]), // came and went
			!ends(lives[i]) && i+1 < len(lives): // its end is that of the one before it
			lives = slices.Delete(lives, i, i+1)
			i--
		case i+1 < len(lives):
			lives[i] = lives[i][n-1:] // its deletion
		}
	}
	var out []modelDelta
	for _, life := range lives {
		states := slices.DeleteFunc(slices.Clone(life), func(d modelDelta) bool { return d.gone })
		if len(states) > 0 {
			state := states[len(states)-1]
			if state.what = states[0].what; state.what == "Sync" && len(states) > 1 {
				state.what = states[1].what
			}
			out = append(out, state)
		}
		if ends(life) {
			out = append(out, life[len(life)-1])
		}
	}
	return out
}

// future returns the state of key after all entries have been processed, and whether the key is
// pending.
func (m *model) future(key string) (s modelState, pending bool) {
	for _, e := range m.queue {
		if e.key() == key {
			return e.last().modelState, true
		}
	}
	if m.processing != nil && m.processing.key == key {
		return *m.processing, true
	}
	for _, k := range m.known {
		if k.key == key {
			return k, false
		}
	}
	return modelState{key: key, gone: true}, false
}

func (m *model) delete(s modelState, what string) {
	future, _ := m.future(s.key)
	queued := slices.ContainsFunc(m.queue, func(e modelEntry) bool { return e.key() == s.key })
	switch {
	case !future.gone && future.another(s):
		m.push(future, "Deleted?", false)
	case queued || !future.gone:
		m.push(s, what, false)
	}
	m.forgetFailures(s.key)
}

func (m *model) replace(list []modelState, version string) {
	first := !m.listed
	m.listed = true
	for _, s := range list {
		if old, _ := m.future(s.key); !old.gone && old.another(s) {
			m.push(old, "Deleted?", first)
		}
		m.push(s, "Replaced", first)
	}
	for k := range fuzzKeys { // in key order
		key := fuzzKey(k)
		if slices.ContainsFunc(list, func(s modelState) bool { return s.key == key }) {
			continue
		}
		if old, _ := m.future(key); !old.gone {
			m.push(old, "Deleted?", first)
		}
		m.forgetFailures(key)
	}
	m.mark(version)
}

func (m *model) resync() {
	for _, s := range slices.Clone(m.known) {
		if _, pending := m.future(s.key); !pending {
			m.push(s, "Sync", false)
		}
	}
}

func (m *model) begin() string {
	e := m.queue[0]
	m.queue = m.queue[1:]
	last := e.last().modelState
	m.processing, m.begun = &last, e.at
	out := e.key() + ":"
	for _, d := range e.deltas {
		out += " " + d.what + "@" + d.version
	}
	if e.initial {
		out += " initial"
	}
	return out
}

// finish ends the processing of an entry. Unless it failed, the consumer then has the object's new
// state.
func (m *model) finish(failed bool) {
	s := *m.processing
	m.processing = nil
	if failed {
		m.failed[s.key] = m.begun
		return
	}
	delete(m.failed, s.key)
	defer m.pass()
	m.known = slices.DeleteFunc(m.known, func(k modelState) bool { return k.key == s.key })
	if !s.gone {
		m.known = append(m.known, s)
		slices.SortFunc(m.known, func(a, b modelState) int { return strings.Compare(a.key, b.key) })
	}
}

func (m *model) synced() bool {
	return m.listed && !slices.ContainsFunc(m.queue, func(e modelEntry) bool { return e.initial })
}

const fuzzKeys = 6

func fuzzKey(i int) string { return string(rune('a' + i%fuzzKeys)) }

// FuzzQueue runs a script against the queue and the model. A step has two bytes. A step that takes
// an entry may run the next step while the entry is being processed.
func FuzzQueue(f *testing.F) {
	random := rand.NewChaCha8([32]byte{})
	for i := range 2000 { // what every run plays: most rules are proved by nothing else
		script := make([]byte, 2*(4+i%30))
		_, _ = random.Read(script)
		f.Add(script, i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, script []byte, coalesce bool) {
		fx := newFixture(t, options{Coalesce: coalesce})
		m := &model{coalesce: coalesce, failed: map[string]int{}}
		var want []string
		version := 0
		// step runs one step, on both sides, and returns how many steps of the script it took.
		var step func(script []byte, nested bool) int
		step = func(script []byte, nested bool) int {
			if len(script) < 2 {
				return 1
			}
			version++
			m.step = version
			if script[0]&(1<<7) != 0 {
				defer func() {
					m.step = version
					m.mark(fmt.Sprint(version))
					fx.q.Mark(fmt.Sprint(version))
				}()
			}
			arg := int(script[1])
			s := modelState{key: fuzzKey(arg), uid: []string{"u0", "u1", ""}[arg/fuzzKeys%3], version: fmt.Sprint(version)}
			spec := s.key + "#" + s.uid + "@" + s.version
			switch what := script[0] % 8; what {
			case 0:
				fx.add(spec)
				m.push(s, "Added", false)
			case 1:
				fx.update(spec)
				m.push(s, "Updated", false)
			case 2:
				if arg&(1<<7) != 0 {
					fx.must(fx.q.DeleteInferred(obj(spec)))
					m.delete(s, "Deleted?")
					break
				}
				fx.delete(spec)
				m.delete(s, "Deleted")
			case 3:
				var list []modelState
				var specs []string
				for i := range 1 + fuzzKeys {
					if arg&(1<<i) != 0 { // bit 6 is key a again
						s := modelState{key: fuzzKey(i), uid: fmt.Sprint("u", arg>>7), version: s.version}
						list, specs = append(list, s), append(specs, s.key+"#"+s.uid+"@"+s.version)
					}
				}
				at := s.version
				if script[0]&(1<<6) != 0 && len(m.marks) > 0 { // the storage was rolled back
					at = "1"
					if m.marks[len(m.marks)-1].version != at {
						m.marks = m.marks[:m.passed]
					}
				}
				fx.must(fx.q.Replace(objs(specs...), at))
				m.replace(list, at)
			case 4:
				fx.resync()
				m.resync()
			default:
				if nested || fx.q.Len() == 0 {
					return 1
				}
				failed, used, before := what == 7, 1, fx.q.HasSynced()
				during := func() {
					if fx.q.HasSynced() != before {
						t.Errorf("step %d: it has synced while an entry is being processed", version)
					}
				}
				if what >= 6 {
					during = func() { used += step(script[2:], true) }
				}
				entry := m.begin()
				if failed {
					want = append(want, entry+" failed")
					fx.popFailing(during)
				} else {
					want = append(want, entry)
					fx.pop(during)
				}
				m.finish(failed)
				if n := strings.Count(fx.popped[len(fx.popped)-1], "@"); coalesce && n > 3 {
					t.Errorf("an entry of %d deltas", n)
				}
				if fx.q.HasSynced() != m.synced() {
					t.Errorf("after %q: HasSynced() = %v, want %v", want, fx.q.HasSynced(), m.synced())
				}
				return used
			}
			if fx.q.Len() != len(m.queue) {
				t.Errorf("Len() = %d, want %d", fx.q.Len(), len(m.queue))
			}
			var keys []string
			for k := range fuzzKeys {
				want, _ := m.future(fuzzKey(k))
				if !want.gone {
					keys = append(keys, want.key)
				}
				if got, ok := fx.q.Get(want.key); ok == want.gone || ok && got.ResourceVersion != want.version {
					t.Errorf("step %d: Get(%q) = %v, %v, want %+v", version, want.key, got, ok, want)
				}
			}
			if got := fx.q.HasSynced(); !nested && got != m.synced() {
				t.Errorf("step %d: HasSynced() = %v", version, got)
			}
			if got := fx.q.Keys(); !slices.Equal(got, keys) {
				t.Errorf("step %d: Keys() = %q, want %q", version, got, keys)
			}
			return 1
		}
		for len(script) >= 2 {
			script = script[min(len(script), 2*step(script, false)):]
			if got, want := fx.q.Passed(), m.pass(); got != want {
				t.Errorf("after step %d: Passed() = %q, want %q", version, got, want)
			}
		}
		for len(m.queue) > 0 {
			want = append(want, m.begin())
			m.finish(false)
		}
		fx.drain()
		if diff := cmp.Diff(want, fx.popped); diff != "" {
			t.Errorf("entries (-want +got):\n%s", diff)
		}
		var known []string
		for _, s := range m.known {
			known = append(known, s.key)
		}
		if got := fx.known.Keys(); !slices.Equal(got, known) {
			t.Errorf("the consumer holds %q, want %q", got, known)
		}
	})
}

var _ deltafifo.KnownObjects[*testObject] = (*hooked)(nil)
