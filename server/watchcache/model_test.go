package watchcache

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/object"
)

// thing is an object of the tests. Its color is a label, and the node it is on.
type thing struct {
	namespace, name, color string
	version                uint64
}

func (t thing) GetNamespace() string         { return t.namespace }
func (t thing) GetName() string              { return t.name }
func (t thing) GetUID() types.UID            { return "" }
func (t thing) GetResourceVersion() string   { return format(t.version) }
func (t thing) Version() uint64              { return t.version }
func (t thing) GetLabels() map[string]string { return map[string]string{"color": t.color} }
func (t thing) GetFields() fields.Fields {
	return fields.Set{"metadata.name": t.name, "metadata.namespace": t.namespace, "spec.nodeName": t.color}
}

func format(version uint64) string { return strconv.FormatUint(version, 10) }

func (t thing) At(version uint64) Object {
	t.version = version
	return t
}

func (t thing) String() string { return fmt.Sprintf("%s@%d %s", object.Key(t), t.version, t.color) }

// model is the source: it remembers the state at each version.
type model struct {
	log    []logged // by version - 1
	states []map[string]thing
}

type logged struct {
	thing   thing
	deleted bool
	other   bool // the version is of a change to another resource
}

func newModel() *model { return &model{states: []map[string]thing{{}}} }

func (m *model) version() uint64 { return uint64(len(m.log)) }

// write makes one random change.
func (m *model) write(r *rand.Rand) {
	now := m.states[len(m.states)-1]
	v := m.version() + 1
	if r.IntN(5) == 0 {
		m.log = append(m.log, logged{other: true})
		m.states = append(m.states, now)
		return
	}
	t := thing{
		namespace: []string{"a", "a-b", "b"}[r.IntN(3)],
		name:      string(rune('m' + r.IntN(5))),
		color:     []string{"red", "blue"}[r.IntN(2)],
		version:   v,
	}
	next := maps.Clone(now)
	was, exists := now[object.Key(t)]
	deleted := exists && r.IntN(3) == 0
	if deleted {
		t.color = was.color
		delete(next, object.Key(t))
	} else {
		next[object.Key(t)] = t
	}
	m.log = append(m.log, logged{t, deleted, false})
	m.states = append(m.states, next)
}

// at returns what a selection selects at a version, in key order.
func (m *model) at(version uint64, sel Selection) []string {
	var out []string
	state := m.states[version]
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if sel.Matches(state[key]) {
			out = append(out, state[key].String())
		}
	}
	return out
}

// a played watch applies its events to the state with which it began.
type played struct {
	w       *Watcher
	sel     Selection
	state   map[string]string
	changed <-chan struct{} // nil before the first check
	slept   bool            // it had everything after the last check, and was not in the future
}

// wakes reports whether there is something for the watch.
func (p *played) wakes() bool {
	select {
	case <-p.changed:
		return true
	default:
		return p.changed == nil
	}
}

// asleep checks that a watch that has not woken missed nothing.
func (p *played) asleep(m *model, now uint64) error {
	if want := m.at(max(now, p.w.Version()), p.sel); !p.has(want) {
		return fmt.Errorf("a watch that was not woken at %d has %q, want %q", now, slices.Sorted(maps.Values(p.state)), want)
	}
	return nil
}

func (p *played) has(want []string) bool {
	return slices.Equal(slices.Sorted(maps.Values(p.state)), slices.Sorted(slices.Values(want)))
}

// missed reports whether changes up to lost may be for the watch, as far as it can tell without
// looking at them.
func (p *played) missed(m *model, lost uint64) bool {
	scope := Selection{Namespace: p.sel.Namespace, Fields: p.sel.Fields}
	for v := p.w.Version() + 1; v <= lost; v++ {
		if !slices.Equal(m.at(v-1, scope), m.at(v, scope)) {
			return true
		}
	}
	return false
}

func (p *played) check(m *model) error {
	for {
		p.changed = p.w.Changed()
		events, more, err := p.w.Next(3)
		if err != nil {
			return err
		}
		for _, e := range events {
			t := e.Object.(thing)
			_, there := p.state[object.Key(t)]
			if there != (e.Type != Added) {
				return fmt.Errorf("%s of %s, which the watcher %v has", e.Type, t, there)
			}
			if e.Type == Deleted {
				delete(p.state, object.Key(t))
			} else {
				p.state[object.Key(t)] = t.String()
			}
		}
		if p.w.Version() > m.version() {
			return fmt.Errorf("watch at %d, and the source is at %d", p.w.Version(), m.version())
		}
		if want := m.at(p.w.Version(), p.sel); !p.has(want) {
			return fmt.Errorf("watch at %d: %q, want %q", p.w.Version(), slices.Sorted(maps.Values(p.state)), want)
		}
		if !more {
			return nil
		}
	}
}

var seedCount = flag.Int("seeds", 3_000, "how many seeds TestEveryStateIsTheSources plays")

// TestEveryStateIsTheSources plays random sources and random readers. Whatever a reader gets at a
// version is what the source had at that version: lists, pages over time, and watches from any
// version, with selectors, while the window adapts, is emptied or begins anew, and while changes
// come out of order.
//
//	go test ./server/watchcache -run TestEveryStateIsTheSources -seeds=10000    # a few seconds
func TestEveryStateIsTheSources(t *testing.T) {
	t.Parallel()
	seeds := *seedCount
	var served, watched, ended, slept int
	for seed := range seeds {
		p := play{r: rand.New(rand.NewPCG(uint64(seed), 1)), m: newModel()}
		fresh := time.Duration(p.r.IntN(2)) // one nanosecond: every change is old
		p.cache = New(Options{MinEvents: 2 + p.r.IntN(4), MaxEvents: 2 + p.r.IntN(20), Fresh: fresh, Wait: -1})
		must.OK(t, p.cache.Fill(0, nil))
		for step := range 100 {
			if err := p.step(); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
		}
		served, watched, ended, slept = served+p.served, watched+p.watched, ended+p.ended, slept+p.slept
		for _, w := range p.watches {
			w.w.Close()
		}
		if n := len(p.cache.signals); n > 0 {
			t.Fatalf("seed %d: the cache remembers %d triggers of watches that are closed", seed, n)
		}
	}
	if served < seeds*3 || watched < seeds || ended < seeds/2 || slept < seeds {
		t.Errorf("%d lists, %d watches, %d ends and %d sleeps of watches are too few to show anything", served, watched, ended, slept)
	}
}

type play struct {
	r     *rand.Rand
	m     *model
	cache *Cache
	fed   uint64 // the source's log was fed up to here

	watches                []*played
	token                  string // of a list that continues
	tokenAt                uint64
	tokenSel               Selection
	pages                  []string
	served, watched, ended int
	slept                  int
}

func (p *play) selection() Selection {
	var sel Selection
	if p.r.IntN(2) == 0 {
		sel.Namespace = []string{"a", "b", "none"}[p.r.IntN(3)]
	}
	switch p.r.IntN(6) {
	case 0:
		sel.Labels = labels.SelectorFromSet(labels.Set{"color": "red"})
	case 1:
		sel.Fields = fields.OneTermEqualSelector("spec.nodeName", "blue")
	case 3:
		sel.Fields = fields.OneTermEqualSelector("metadata.name", string(rune('m'+p.r.IntN(5))))
	case 2:
		sel.Also = func(o Object) bool { return o.GetName() < "o" }
	}
	return sel
}

func (p *play) step() error {
	switch p.r.IntN(16) {
	case 0, 1, 2, 3:
		for range p.r.IntN(4) {
			p.m.write(p.r)
		}
	case 4, 5, 6, 7:
		p.feed()
	case 8:
		p.disturb()
	case 9, 10, 11:
		return p.list()
	case 12:
		return p.nextPage()
	case 13:
		return p.watch()
	default:
		return p.playWatches()
	}
	return nil
}

// feed gives the cache a part of the log.
func (p *play) feed() {
	for range p.r.IntN(6) {
		if p.fed == p.m.version() {
			return
		}
		l := p.m.log[p.fed]
		p.fed++
		if l.other {
			if p.r.IntN(2) == 0 {
				p.cache.Progress(p.fed)
			}
			continue
		}
		p.cache.Apply(l.thing, l.deleted)
	}
}

// disturb does to the cache what is rare.
func (p *play) disturb() {
	switch now := p.m.version(); p.r.IntN(8) {
	case 5: // a backup is restored
		now = p.r.Uint64N(now + 1)
		p.m.log, p.m.states = p.m.log[:now], p.m.states[:now+1]
		p.token, p.watches = "", slices.DeleteFunc(p.watches, func(w *played) bool {
			if w.w.Version() < now {
				w.w.Close()
				return true
			}
			return false
		})
		fallthrough
	case 0:
		var all []Object
		for _, t := range p.m.states[now] {
			all = append(all, t)
		}
		if err := p.cache.Fill(now, all); err != nil {
			panic(err)
		}
		p.fed = now
	case 7: // the server is started anew
		if log, ok := p.cache.Log(); ok {
			if err := p.cache.Restore(log); err != nil {
				panic(err)
			}
		}
	case 1:
		p.cache.Forget()
		if p.r.IntN(2) == 0 {
			p.cache.Drop(p.r.Uint64N(p.cache.Version() + 1))
		}
	case 2:
		p.cache.Lose()
	case 3: // the source is asked for one object
		for _, t := range p.m.states[now] {
			p.cache.Amend(t, false, 0)
			return
		}
	case 6: // an answer that comes late
		for _, t := range p.m.states[p.r.Uint64N(min(now, p.cache.Version())+1)] {
			if _, there := p.cache.states.Get(object.Key(t)); there {
				p.cache.Amend(t, false, 0)
			}
			return
		}
	case 4: // a list shows that an object is gone
		for key, o := range p.cache.states.All() {
			if _, there := p.m.states[now][key]; !there {
				p.cache.Amend(o.At(now), true, now)
				return
			}
		}
	}
}

// list asks for a random list, and compares it with the model.
func (p *play) list() error {
	q := Query{Selection: p.selection(), ResourceVersion: "0"}
	if at := p.r.Uint64N(p.m.version() + 2); p.r.IntN(4) > 0 && at > 0 {
		q.ResourceVersion = format(at)
		q.ResourceVersionMatch = []metav1.ResourceVersionMatch{"", metav1.ResourceVersionMatchExact, metav1.ResourceVersionMatchNotOlderThan}[p.r.IntN(3)]
	}
	q.Limit = int64(p.r.IntN(3))
	page, err := p.cache.List(context.Background(), q)
	switch {
	case errors.Is(err, ErrNotCached), apierrors.IsTooManyRequests(err), apierrors.IsTimeout(err):
		return nil
	case err != nil:
		return err
	}
	p.served++
	want := p.m.at(page.Version, q.Selection)
	if q.ResourceVersionMatch == metav1.ResourceVersionMatchExact && format(page.Version) != q.ResourceVersion {
		return fmt.Errorf("an exact list at %s is of %d", q.ResourceVersion, page.Version)
	}
	if v, _ := ParseVersion(q.ResourceVersion); page.Version < v {
		return fmt.Errorf("a list at %s is of %d", q.ResourceVersion, page.Version)
	}
	have := texts(page.Objects)
	if page.Continue != "" {
		want = want[:min(len(have), len(want))]
		p.token, p.tokenAt, p.tokenSel, p.pages = page.Continue, page.Version, q.Selection, have
	}
	if page.Remaining != nil {
		if all := p.m.at(page.Version, q.Selection); q.Also == nil && len(have)+int(*page.Remaining) != len(all) {
			return fmt.Errorf("%d objects and %d remaining, of %d", len(have), *page.Remaining, len(all))
		}
	}
	if !slices.Equal(have, want) {
		return fmt.Errorf("list %+v at %d: %q, want %q", q, page.Version, have, want)
	}
	return nil
}

// nextPage continues a list. All its pages together are the state of the first one.
func (p *play) nextPage() error {
	if p.token == "" {
		return nil
	}
	page, err := p.cache.List(context.Background(), Query{Selection: p.tokenSel, Limit: 2, Continue: p.token})
	if err != nil {
		p.token = ""
		if errors.Is(err, ErrNotCached) || apierrors.IsTooManyRequests(err) || apierrors.IsTimeout(err) {
			return nil
		}
		return err
	}
	p.pages = append(p.pages, texts(page.Objects)...)
	if p.token = page.Continue; p.token != "" {
		return nil
	}
	if want := p.m.at(p.tokenAt, p.tokenSel); !slices.Equal(p.pages, want) {
		return fmt.Errorf("pages at %d: %q, want %q", p.tokenAt, p.pages, want)
	}
	p.served++
	return nil
}

// watch begins a watch, with or without initial events.
func (p *play) watch() error {
	q := WatchQuery{Selection: p.selection(), Version: p.r.Uint64N(p.m.version() + 1), Initial: p.r.IntN(2) == 0}
	w, err := p.cache.Watch(context.Background(), q)
	switch {
	case apierrors.IsResourceExpired(err), apierrors.IsTooManyRequests(err), apierrors.IsTimeout(err):
		return nil
	case err != nil:
		return err
	}
	p.watched++
	one := &played{w: w, sel: q.Selection, state: map[string]string{}}
	if q.Initial {
		for _, o := range w.Initial() {
			one.state[object.Key(o)] = o.(thing).String()
		}
	} else {
		for _, text := range p.m.at(w.Version(), q.Selection) {
			key, _, _ := strings.Cut(text, "@")
			one.state[key] = text
		}
	}
	p.watches = append(p.watches, one)
	return nil
}

func (p *play) playWatches() error {
	p.r.Shuffle(len(p.watches), func(i, j int) { p.watches[i], p.watches[j] = p.watches[j], p.watches[i] })
	for _, w := range p.watches {
		if p.r.IntN(20) == 0 { // the client hangs up
			w.w.Close()
			w.w = nil
			continue
		}
		if !w.wakes() && p.r.IntN(3) > 0 {
			if err := w.asleep(p.m, p.cache.Version()); err != nil {
				return err
			}
			p.slept++
			continue
		}
		before := w.w.Version()
		err := w.check(p.m) // also of one that was not woken: a bookmark is due
		switch {
		case errors.Is(err, ErrRestarted) && w.w.Version() != before:
			return fmt.Errorf("a watch at %d ended with its window at %d", before, w.w.Version())
		case errors.Is(err, ErrSlow) && w.slept && !w.missed(p.m, p.cache.window.lost):
			return fmt.Errorf("a watch at %d ended as too slow, and the window has all that is for it", w.w.Version())
		case errors.Is(err, ErrSlow), errors.Is(err, ErrRestarted):
			p.ended++
			w.w.Close()
			w.w = nil
		case err != nil:
			return err
		default:
			w.slept = w.w.Version() == p.cache.Version()
		}
	}
	p.watches = slices.DeleteFunc(p.watches, func(w *played) bool { return w.w == nil })
	return nil
}

func texts(objects []Object) []string {
	var out []string
	for _, o := range objects {
		out = append(out, o.(thing).String())
	}
	return out
}
