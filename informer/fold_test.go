package informer_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/object"
)

// fold is a handler, or an observer, that keeps what it is told: the objects that must exist if all
// of it is true. It fails the test if something cannot be true after what came before.
type fold struct {
	t     *testing.T
	name  string
	store informer.Reader[*thing]

	isHandler bool              // and not an observer
	single    bool              // its cache is an Informer, so nothing is initial after it has synced
	saved     bool              // its cache begins with a saved copy
	pause     time.Duration     // how long a callback takes
	passes    func(*thing) bool // its filter; nil if it has none
	tally     func(what string) // counts what happens
	mu        sync.Mutex
	reg       *informer.Registration
	copy      map[string]*thing
	calls     int
	synced    int // calls of OnSynced; an observer has none
	inside    bool
	over      bool // no callback may begin any more
	lost      bool // the handler was removed before it was told everything, so its copy is what it was
}

// fill makes the fold a handler that is slow, or picks, as the dice say.
func (f *fold) fill(dice func(n int) int) {
	if dice(2) == 0 {
		f.pause = time.Duration(dice(4000)) * time.Millisecond
	}
	if dice(4) == 0 {
		rest := dice(2)
		f.passes = func(obj *thing) bool { return obj.Value%2 == rest }
	}
}

func (f *fold) handler(resync time.Duration) informer.Handler[*thing] {
	return informer.Handler[*thing]{
		Name: f.name,
		OnAdd: func(obj *thing, initial bool) {
			f.order("add", initial)
			f.call("add", object.Key(obj), nil, obj)
		},
		OnUpdate: func(old, obj *thing) { f.order("update", false); f.call("update", object.Key(obj), old, obj) },
		OnDelete: func(obj *thing, _ bool) { f.order("delete", false); f.call("delete", object.Key(obj), obj, nil) },
		OnSynced: f.onSynced,
		Filter:   f.passes,
		Resync:   resync,
	}
}

// order checks that initial objects come before OnSynced, and everything else after it. But a
// MultiNamespace may tell of either while lists of other namespaces are on their way, and an
// Informer that begins with a saved copy tells of what has changed since.
func (f *fold) order(what string, initial bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.single && (initial && f.synced > 0 || !initial && f.synced == 0 && !f.saved) {
		f.t.Errorf("%s: %s, initial: %v, after %d calls of OnSynced", f.name, what, initial, f.synced)
	}
}

// onSynced checks that OnSynced comes once, as other callbacks do, and that the channel is closed
// after it.
func (f *fold) onSynced() {
	f.mu.Lock()
	if f.synced++; f.synced > 1 || f.inside || f.over || f.reg.HasSynced() {
		f.t.Errorf("%s: call %d of OnSynced; in another callback: %v, after the end: %v, synced: %v", f.name, f.synced, f.inside, f.over, f.reg.HasSynced())
	}
	f.inside = true
	f.mu.Unlock()
	if f.pause > 0 {
		<-time.After(f.pause)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inside = false
	if f.reg.HasSynced() {
		f.t.Errorf("%s: synced before OnSynced has returned", f.name)
	}
}

func (f *fold) observe(c informer.Change[*thing]) {
	switch {
	case c.Existed && c.Exists:
		f.tell("update", c.Key, c.Old, c.New)
	case c.Exists:
		f.tell("add", c.Key, nil, c.New)
	case c.Existed:
		f.tell("delete", c.Key, c.Old, nil)
	}
}

// call is a callback of a handler.
func (f *fold) call(what, key string, before, after *thing) {
	f.mu.Lock()
	if f.inside {
		f.t.Errorf("%s: two callbacks at a time", f.name)
	}
	f.inside = true
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.inside = false
	}()
	f.tell(what, key, before, after)
	if f.pause > 0 {
		<-time.After(f.pause)
	}
}

// tell checks what is told, and applies it.
func (f *fold) tell(what, key string, before, after *thing) {
	f.tally(what)
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.copy[key]
	switch {
	case f.over:
		f.t.Errorf("%s: %s of %s after the end", f.name, what, key)
	case (known == nil) != (before == nil):
		f.t.Errorf("%s: %s of %s, of which it knows %v", f.name, what, key, known)
	case known != nil && known.UID != before.UID:
		f.t.Errorf("%s: %s of %s %s, of which it knows %s", f.name, what, key, before.UID, known.UID)
	case what == "update" && (known.ResourceVersion != before.ResourceVersion || known.UID != after.UID):
		f.t.Errorf("%s: update of %s from %s to %s %s, and it knows %s", f.name, key, before.ResourceVersion, after.UID, after.ResourceVersion, known.ResourceVersion)
	}
	if after == nil {
		delete(f.copy, key)
	} else {
		if current, ok := f.store.Get(key); ok && versionNumber(current) < versionNumber(after) {
			f.t.Errorf("%s: %s of %s at %s, and the store is at %s", f.name, what, key, after.ResourceVersion, current.ResourceVersion)
		}
		f.copy[key] = after
	}
	f.calls++
}

// versionNumber makes the versions of the fake comparable.
func versionNumber(obj *thing) string { return fmt.Sprintf("%012s", obj.ResourceVersion) }

// retire says that no callback may begin from now on.
func (f *fold) retire(lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over, f.lost = true, f.lost || lost
}

func (f *fold) retired() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.over
}

// holds fails unless the copy is exactly some objects, those that do not pass the filter aside.
func (f *fold) holds(when string, objects []*thing) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost {
		return
	}
	if f.passes != nil {
		objects = slices.DeleteFunc(slices.Clone(objects), func(obj *thing) bool { return !f.passes(obj) })
	}
	have := slices.Collect(maps.Values(f.copy))
	slices.SortFunc(have, func(a, b *thing) int { return strings.Compare(object.Key(a), object.Key(b)) })
	if got, want := describe(have), describe(objects); !slices.Equal(got, want) {
		f.t.Errorf("%s: %s has\n\t%q\nwant\n\t%q", when, f.name, got, want)
	}
}

// hasNothingIn fails if the copy has an object of a namespace.
func (f *fold) hasNothingIn(namespace string) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range f.copy {
		if !f.lost && strings.HasPrefix(key, namespace+"/") {
			f.t.Errorf("%s knows %s after its namespace was removed", f.name, key)
		}
	}
}

func (f *fold) String() string { return fmt.Sprintf("%s (%d calls)", f.name, f.calls) }
