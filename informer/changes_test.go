package informer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/store"
)

// What handlers are told of a change. Users of other clients have met the opposite of each: test/known-problems.md has the links.

// A transform that clears what tells one version from another, or one object from another, hides no update: neither one
// that an event brings, nor one that a list does, nor the last of several that were merged while the consumer was busy.
func TestClearedVersionsLoseNoUpdate(t *testing.T) {
	for _, test := range []struct {
		name  string
		strip func(*thing)
	}{
		{"resourceVersion", func(obj *thing) { obj.ResourceVersion = "" }},
		{"resourceVersion and UID", func(obj *thing) { obj.ResourceVersion, obj.UID = "", "" }},
		{"UID", func(obj *thing) { obj.UID = "" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g gate
				f := newFake("a", "b")
				f.Transform = test.strip
				r := newRig(t, f, informer.Options[*thing]{Indexers: g.index()})
				var d diary
				r.add(d.handler())
				r.start()
				d.expect(t, "add a=0 initial; add b=0 initial")
				for i := range 3 {
					f.set("a", i+1)
					d.expect(t, fmt.Sprintf("update a=%d->%d", i, i+1))
				}

				g.shut = make(chan struct{})
				f.set("b", 1) // at which the consumer stops
				f.set("a", 4)
				f.set("a", 5)
				synctest.Wait()
				close(g.shut)
				synctest.Wait()
				if got := d.take(); !strings.HasPrefix(got, "update b=0->1; update a=3->") || !strings.HasSuffix(got, "->5") {
					t.Errorf("after merged updates the handler was told %s", got)
				}

				f.Gap(func() { f.set("a", 6) })
				later(time.Minute)
				if got := d.take(); !strings.Contains(got, "update a=5->6") {
					t.Errorf("after a relist the handler was told %s", got)
				}
				f.set("b", 2)
				d.expect(t, "update b=1->2")
				f.Remove("a")
				d.expect(t, "delete a=6")
				f.set("a", 7)
				d.expect(t, "add a=7")
			})
		})
	}
}

// An object whose addition still waits when a list comes that lacks it does not become a ghost.
func TestQueuedAddDoesNotSurviveRelist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		f := newFake("a")
		r := newRig(t, f, informer.Options[*thing]{Indexers: g.index()})
		var d diary
		r.add(d.handler())
		r.start()
		g.shut = make(chan struct{})
		f.set("a", 1) // at which the consumer stops
		f.set("x", 1)
		synctest.Wait()
		f.Gap(func() { f.Remove("x") })
		later(time.Minute)
		if f.Lists() != 2 {
			t.Fatalf("%d lists, want 2", f.Lists())
		}
		close(g.shut)
		r.agree()
		switch got := d.take(); got {
		case "add a=0 initial; update a=0->1", "add a=0 initial; update a=0->1; add x=1; delete x=1 unknown":
		default:
			t.Errorf("the handler was told %s", got)
		}
	})
}

// A relist is neither a resync, which would tell handlers of all that has not changed, nor taken for one, which would keep
// from them what has.
func TestRelistTellsWhatChangedAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		for i := range 200 {
			f.set(fmt.Sprint("pod-", i), 0)
		}
		r := newRig(t, f, informer.Options[*thing]{})
		var d diary
		r.add(d.handler())
		r.start()
		d.take()
		f.Gap(func() { f.set("pod-77", 1) })
		later(time.Minute)
		d.expect(t, "update pod-77=0->1")
		f.Gap(func() {})
		later(time.Minute)
		d.expect(t, "")
		if f.Lists() != 3 {
			t.Errorf("%d lists, want 3", f.Lists())
		}
	})
}

// An object that is deleted and made again under its name while nobody watches is two objects, even if they look the same.
func TestRecreationInGapIsDeleteAndAdd(t *testing.T) {
	for _, value := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake("a", "b")
			r := newRig(t, f, informer.Options[*thing]{})
			var d diary
			uids := diary{}
			r.add(d.handler())
			r.add(informer.Handler[*thing]{
				OnAdd:    func(obj *thing, _ bool) { uids.write("+" + string(obj.UID)) },
				OnDelete: func(obj *thing, _ bool) { uids.write("-" + string(obj.UID)) },
			})
			r.start()
			d.take()
			uids.take()
			f.Gap(func() { f.Remove("a"); f.set("a", value) })
			later(time.Minute)
			d.expect(t, fmt.Sprintf("delete a=0 unknown; add a=%d", value))
			uids.expect(t, "-uid-1; +uid-3")
		})
	}
}

// A deletion that nobody saw is told once, however many lists lack the object, with its last known state, and when the
// store and every index have it.
func TestMissedDeleteIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := func(*thing) []string { return []string{"all"} }
		f := newFake("a", "b")
		r := newRig(t, f, informer.Options[*thing]{Indexers: store.Indexers[*thing]{"all": all}})
		var told []string
		r.add(informer.Handler[*thing]{OnDelete: func(obj *thing, unknown bool) {
			left, err := r.Store().ByIndex("all", "all")
			if err != nil {
				t.Error(err)
			}
			_, there := r.Store().Get("a")
			told = append(told, fmt.Sprint(obj.Name, " ", obj.Value, " ", unknown, " ", there, " ", describe(left)))
		}})
		r.start()
		f.set("a", 3)
		synctest.Wait()
		f.Gap(func() { f.Remove("a") })
		later(time.Minute)
		f.Gap(func() {})
		later(time.Minute)
		if f.Lists() != 3 {
			t.Errorf("%d lists, want 3", f.Lists())
		}
		if want := []string{"a 3 true false [b uid-2 0]"}; !slices.Equal(told, want) {
			t.Errorf("the handler was told %q, want %q", told, want)
		}
	})
}

// An object that was deleted in a state which cannot be decoded is deleted in the state that was known, and the handler is
// told that this is not the final one.
func TestUnreadableDeletionHasNoFinalState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "b")
		r := newRig(t, f, informer.Options[*thing]{})
		d := &diary{}
		r.add(d.handler())
		r.start()
		f.set("a", 3)
		synctest.Wait()
		d.take()
		f.RemoveBadly("a")
		d.expect(t, "delete a=3 unknown")
		r.agree()
	})
}

// A name has one object at a time. Whichever way another one is heard of, the handlers are told of the deletion of the one that
// they know and then of the other, and never of an update from one to the other; also if both wait in the queue.
func TestAnotherObjectIsNeverAnUpdate(t *testing.T) {
	for _, test := range []struct {
		name   string
		happen func(f *fake)
		want   string
	}{
		{"deleted and made again", func(f *fake) { f.Remove("a"); f.set("a", 9) }, "delete a=0; add a=9"},
		{"in a gap", func(f *fake) { f.Gap(func() { f.Remove("a"); f.set("a", 9) }) }, "delete a=0 unknown; add a=9"},
		{"without the deletion", func(f *fake) { f.swap("a", 9) }, "delete a=0 unknown; add a=9"},
		{"without the deletion, and again", func(f *fake) { f.swap("a", 8); f.Remove("a"); f.set("a", 9) }, "delete a=0 unknown; add a=9"},
		{"without the deletion, after an update", func(f *fake) { f.set("a", 5); f.swap("a", 9) }, "delete a=5 unknown; add a=9"},
		{"the deletion of the other alone", func(f *fake) { f.Orphan("a", &thing{}) }, "delete a=0 unknown"},
		{"in two gaps", func(f *fake) {
			f.Gap(func() { f.swap("a", 8) })
			f.Gap(func() { f.Remove("a"); f.set("a", 9) })
		}, "delete a=0 unknown; add a=9"},
	} {
		for _, queued := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, queued %v", test.name, queued), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var g gate
					f := newFake("a", "busy")
					r := newRig(t, f, informer.Options[*thing]{Indexers: g.index()})
					release := make(chan struct{})
					var d diary
					r.add(informer.Handler[*thing]{ // tells of a alone, and not before everything has happened
						OnAdd: func(obj *thing, initial bool) {
							if !initial && obj.Name == "a" {
								d.handler().OnAdd(obj, initial)
							}
						},
						OnUpdate: func(old, obj *thing) {
							if obj.Name == "busy" {
								<-release
							} else {
								d.handler().OnUpdate(old, obj)
							}
						},
						OnDelete: d.handler().OnDelete,
					})
					r.start()
					if queued {
						g.shut = make(chan struct{})
					}
					f.set("busy", 1) // the consumer stops here, if it does, and the handler
					synctest.Wait()
					test.happen(f)
					later(30 * time.Second) // over every delay, and before the watch is too idle
					if queued {
						close(g.shut)
						synctest.Wait()
					}
					close(release)
					d.expect(t, test.want)
					if test.name != "the deletion of the other alone" {
						r.agree()
					}
				})
			})
		}
	}
}
