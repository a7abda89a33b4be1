package informer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// What handlers are told of each thing that can happen. The server has a, b and c when the informer
// starts.
func TestCallbacks(t *testing.T) {
	tests := []struct {
		name   string
		happen func(f *fake)
		want   string
	}{
		{"nothing", func(*fake) {}, ""},
		{"create", func(f *fake) { f.set("d", 1) }, "add d=1"},
		{"update", func(f *fake) { f.set("a", 1) }, "update a=0->1"},
		{"delete", func(f *fake) { f.Remove("a") }, "delete a=0"},
		{"delete in a state that cannot be decoded", func(f *fake) { f.RemoveBadly("a") }, "delete a=0 inferred"},
		{"relist, nothing changed", func(f *fake) { f.Gap(func() {}) }, ""},
		{"relist, one changed", func(f *fake) { f.Gap(func() { f.set("b", 2) }) }, "update b=0->2"},
		{"relist, one created", func(f *fake) { f.Gap(func() { f.set("d", 2) }) }, "add d=2"},
		{"relist, one deleted", func(f *fake) { f.Gap(func() { f.Remove("b") }) }, "delete b=0 inferred"},
		{
			"relist, one deleted and made again",
			func(f *fake) { f.Gap(func() { f.Remove("b"); f.set("b", 3) }) },
			"delete b=0 inferred; add b=3",
		},
		{"relist, one came and went", func(f *fake) { f.Gap(func() { f.set("d", 3); f.Remove("d") }) }, ""},
		{"delete of what was never seen", func(f *fake) { f.Orphan("z", &thing{}) }, ""},
		{"made again, and the deletion was not sent", func(f *fake) { f.swap("a", 4) }, "delete a=0 inferred; add a=4"},
		{"an event that repeats itself", func(f *fake) { f.Repeat("a") }, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, newFake("a", "b", "c"), informer.Options[*thing]{})
				var d diary
				r.add(d.handler())
				r.start()
				d.expect(t, "add a=0 initial; add b=0 initial; add c=0 initial")
				test.happen(r.fake)
				later(time.Minute)
				d.expect(t, test.want)
				r.agree()
			})
		})
	}
}

// The store has what a callback tells, in every index: also a deletion, and a value that is no
// more.
func TestStoreIsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parity := func(obj *thing) []string { return []string{[]string{"even", "odd"}[obj.Value%2]} }
		r := newRig(t, newFake("a"), informer.Options[*thing]{Indexers: store.Indexers[*thing]{"parity": parity}})
		check := func(value string, want ...string) {
			t.Helper()
			objects, err := r.Store().ByIndex("parity", value)
			must.OK(t, err)
			if got := describe(objects); !slices.Equal(got, want) {
				t.Errorf("index holds %q under %s, want %q", got, value, want)
			}
		}
		r.add(informer.Handler[*thing]{
			OnAdd: func(*thing, bool) { check("even", "a uid-1 0") },
			OnUpdate: func(*thing, *thing) {
				check("even")
				check("odd", "a uid-1 1")
			},
			OnDelete: func(final *thing, _ bool) {
				if final.ResourceVersion != "3" {
					t.Errorf("the handler was given the state at %s, want the one in which the object was deleted", final.ResourceVersion)
				}
				check("odd")
				if _, ok := r.Store().Get("a"); ok {
					t.Error("store holds a deleted object")
				}
			},
		})
		r.start()
		r.fake.set("a", 1)
		synctest.Wait()
		r.fake.Remove("a")
		synctest.Wait()
	})
}

// Objects without a resourceVersion, such as those of some aggregated types, which have no UID
// either, or those from which a transform removes it: the content alone tells whether one of a list
// has changed.
func TestWithoutVersions(t *testing.T) {
	for _, strip := range []func(*thing){
		func(obj *thing) { obj.ResourceVersion = "" },
		func(obj *thing) { obj.ResourceVersion, obj.UID = "", "" },
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake("a", "b")
			f.Transform = strip
			r := newRig(t, f, informer.Options[*thing]{})
			var d diary
			r.add(d.handler())
			r.start()
			d.expect(t, "add a=0 initial; add b=0 initial")
			f.set("a", 1)
			d.expect(t, "update a=0->1")
			f.Gap(func() { f.set("b", 2) })
			later(time.Minute)
			d.expect(t, "update b=0->2")
		})
	}
}

func TestSynced(t *testing.T) {
	for _, keys := range [][]string{nil, {"a", "b"}} {
		t.Run(fmt.Sprintf("%d objects", len(keys)), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, newFake(keys...), informer.Options[*thing]{})
				reg := r.add(informer.Handler[*thing]{})
				if r.HasSynced() || reg.HasSynced() {
					t.Fatal("synced before Run")
				}
				r.start()
				if !r.HasSynced() || !reg.HasSynced() || !closed(r.Synced()) || !closed(reg.Synced()) {
					t.Fatal("not synced")
				}
			})
		})
	}
}

// The store's version follows lists and bookmarks, not objects alone.
func TestResourceVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told string
		trace := &reflector.Trace{Bookmark: func(version string) { told = version }}
		f := newFake("a", "b")
		f.Remove("b") // at version 3
		r := newRig(t, f, informer.Options[*thing]{Reflector: reflector.Options{Trace: trace}})
		r.start()
		if got := r.Store().ResourceVersion(); got != "3" {
			t.Errorf("after the list the store is at %q, want 3", got)
		}
		want := f.Bookmark()
		synctest.Wait()
		if got := r.Store().ResourceVersion(); got != want || told != want {
			t.Errorf("after the bookmark the store is at %q, and the trace was told %q, want %q", got, told, want)
		}
	})
}

func TestRunOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a"), informer.Options[*thing]{})
		r.start()
		if err := r.Run(t.Context()); !errors.Is(err, informer.ErrStarted) {
			t.Errorf("second Run returned %v, want %v", err, informer.ErrStarted)
		}
		r.stop()
		if err := <-r.done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v, want %v", err, context.Canceled)
		}
		if _, err := r.AddHandler(informer.Handler[*thing]{}); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("AddHandler returned %v, want %v", err, informer.ErrStopped)
		}
		if err := r.Run(t.Context()); !errors.Is(err, informer.ErrStarted) {
			t.Errorf("third Run returned %v, want %v", err, informer.ErrStarted)
		}
		if r.Store().Len() != 1 {
			t.Error("the store has lost its objects")
		}
		r.done <- context.Canceled
	})
}

// Run waits for the callback that is being called, and none follows it.
func TestStopWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a", "b"), informer.Options[*thing]{})
		release := make(chan struct{})
		d := diary{hold: func(string) { <-release }}
		reg := r.add(d.handler())
		r.start()
		r.stop()
		synctest.Wait()
		if len(r.done) != 0 {
			t.Fatal("Run returned while a callback was being called")
		}
		close(release)
		d.expect(t, "add a=0 initial")
		if len(r.done) != 1 || !closed(reg.Done()) {
			t.Error("Run continues after the last callback")
		}
		if reg.HasSynced() {
			t.Error("synced, though b was never delivered")
		}
	})
}
