package informer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/source"
)

// withSynced is the handler of a diary that also writes down its OnSynced.
func (d *diary) withSynced() informer.Handler[*thing] {
	h := d.handler()
	h.OnSynced = func() { d.write("synced") }
	return h
}

// OnSynced comes once: after the initial objects, before what happens later, and not after a
// relist. A handler that comes late has one of its own, also if there are no objects.
func TestOnSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a", "b"), informer.Options[*thing]{})
		var early, late, alone diary
		r.add(early.withSynced())
		r.start()
		early.expect(t, "add a=0 initial; add b=0 initial; synced")
		r.fake.set("a", 1)
		early.expect(t, "update a=0->1")
		r.add(late.withSynced())
		r.fake.set("c", 0)
		late.expect(t, "add a=1 initial; add b=0 initial; synced; add c=0")
		r.fake.Gap(func() { r.fake.Remove("a"); r.fake.Remove("b"); r.fake.set("c", 1) })
		later(time.Minute)
		early.expect(t, "add c=0; update c=0->1; delete a=1 inferred; delete b=0 inferred")
		late.expect(t, "update c=0->1; delete a=1 inferred; delete b=0 inferred")
		r.fake.Remove("c")
		synctest.Wait()
		r.add(alone.withSynced())
		alone.expect(t, "synced")
	})
}

// An event that comes right after the first list comes after OnSynced, whichever goroutine is
// faster.
func TestOnSyncedComesBeforeTheFirstEvent(t *testing.T) {
	type program interface {
		AddHandler(informer.Handler[*thing]) (*informer.Registration, error)
		Run(context.Context) error
	}
	for _, server := range []struct {
		name, want string
		objects    []string
	}{
		{"empty list", "synced; add shop/new=0", nil},
		{"one object", "add shop/old=0 initial; synced; add shop/new=0", []string{"shop/old"}},
	} {
		for name, start := range map[string]func(*testing.T, *fake) program{
			"informer": func(_ *testing.T, f *fake) program { return informer.New(f, informer.Options[*thing]{Logger: silent}) },
			"multi": func(t *testing.T, f *fake) program {
				t.Helper()
				m := informer.NewMultiNamespace(func(string) (source.ListWatcher[*thing], error) { return f, nil },
					informer.Options[*thing]{Logger: silent})
				must.OK(t, m.Add("shop"))
				return m
			},
		} {
			t.Run(name+" with "+server.name, func(t *testing.T) {
				for range 100 {
					synctest.Test(t, func(t *testing.T) {
						f := newFake(server.objects...)
						f.Bookmark() // so that an empty list has a version, too
						f.Asked = func(_ context.Context, verb string) error {
							if _, exists := f.Get("shop/new"); verb == "watch" && !exists {
								f.set("shop/new", 0)
							}
							return nil
						}
						p := start(t, f)
						var d diary
						if _, err := p.AddHandler(d.withSynced()); err != nil {
							t.Fatal(err)
						}
						stop := running(t, p)
						d.expect(t, server.want)
						stop()
					})
				}
			})
		}
	}
}

// What happens to an object of the first list while the list is on its way to the store comes after
// OnSynced, and is not initial. Only an update is merged with the state that the list had.
func TestOnSyncedComesBeforeChangesOfTheFirstList(t *testing.T) {
	for _, test := range []struct {
		name           string
		change         func(f *fake)
		busy           bool // the handler is busy meanwhile, so that changes are merged
		told, observed string
	}{
		{
			"updated", func(f *fake) { f.set("b", 1) }, false,
			"add a=0 initial; add b=1 initial; add c=0 initial; synced",
			"a none->0 initial; b none->1 initial; c none->0 initial",
		},
		{
			"deleted", func(f *fake) { f.Remove("b") }, false,
			"add a=0 initial; add b=0 initial; add c=0 initial; synced; delete b=0",
			"a none->0 initial; b none->0 initial; b 0->none; c none->0 initial",
		},
		{
			"deleted, and the handler is busy", func(f *fake) { f.Remove("b") }, true,
			"add a=0 initial; add c=0 initial; synced",
			"a none->0 initial; b none->0 initial; b 0->none; c none->0 initial",
		},
		{
			"created again", func(f *fake) { f.Remove("b"); f.set("b", 1) }, false,
			"add a=0 initial; add b=0 initial; add c=0 initial; synced; delete b=0; add b=1",
			"a none->0 initial; b none->0 initial; b 0->none; b none->1; c none->0 initial",
		},
		{
			"created again, and the handler is busy", func(f *fake) { f.Remove("b"); f.set("b", 1) }, true,
			"add a=0 initial; add c=0 initial; synced; add b=1",
			"a none->0 initial; b none->0 initial; b 0->none; b none->1; c none->0 initial",
		},
		{
			"created again in a gap", func(f *fake) { f.Gap(func() { f.Remove("b"); f.set("b", 1) }) }, false,
			"add a=0 initial; add b=0 initial; add c=0 initial; synced; delete b=0 inferred; add b=1",
			"a none->0 initial; b none->0 initial; b 0->none; b none->1; c none->0 initial",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, newFake("a", "b", "c"), informer.Options[*thing]{})
				var d, observer diary
				release, changed := make(chan struct{}), make(chan struct{})
				if test.busy {
					d.hold = func(string) { <-release }
				}
				r.add(d.withSynced())
				r.observe(func(c informer.Change[*thing]) {
					told(&observer)(c)
					<-changed
					<-time.After(time.Millisecond) // the handler is faster than the consumer
				})
				r.start()
				test.change(r.fake)
				later(time.Minute) // the queue has the change
				close(changed)
				later(time.Second)
				close(release)
				d.expect(t, test.told)
				observer.expect(t, test.observed)
			})
		})
	}
}

// An informer that is stopped before the store has the first list: what waits for OnSynced comes
// without it.
func TestStopBeforeOnSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a", "b", "c", "d"), informer.Options[*thing]{})
		var d diary
		h := d.withSynced()
		h.Filter = func(obj *thing) bool { return obj.Name < "c" }
		reg := r.add(h)
		release := map[string]chan struct{}{"a": make(chan struct{}), "c": make(chan struct{})}
		r.observe(func(c informer.Change[*thing]) {
			if wait := release[c.Key]; wait != nil {
				<-wait
			}
			<-time.After(time.Millisecond) // the handler is faster than the consumer
		})
		r.background()
		r.fake.Remove("b")
		r.fake.set("b", 1)
		synctest.Wait()
		close(release["a"])
		later(time.Second) // the consumer is at c
		d.expect(t, "add a=0 initial; add b=0 initial")
		ended := inBackground(func() error { return r.Stop(context.Background()) })
		synctest.Wait()
		close(release["c"])
		if err := <-ended; err != nil {
			t.Error(err)
		}
		d.expect(t, "delete b=0; add b=1")
		if reg.HasSynced() {
			t.Error("synced")
		}
		r.stop()
		if err := <-r.done; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	})
}

// Without a first list there is no OnSynced, also when Stop ends Run. If the store has synced, Stop
// waits for OnSynced.
func TestOnSyncedAndStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a")
		f.Fail(errors.New("not now"))
		in := informer.New(f, informer.Options[*thing]{Logger: silent})
		var d diary
		if _, err := in.AddHandler(d.withSynced()); err != nil {
			t.Fatal(err)
		}
		done := inBackground(func() error { return in.Run(t.Context()) })
		synctest.Wait()
		if err := in.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		d.expect(t, "")
	})
	synctest.Test(t, func(t *testing.T) {
		in := informer.New(newFake("a"), informer.Options[*thing]{Logger: silent})
		done := inBackground(func() error { return in.Run(t.Context()) })
		synctest.Wait()
		d := diary{hold: func(string) { <-time.After(time.Second) }}
		reg, err := in.AddHandler(d.withSynced())
		must.OK(t, err)
		if err := in.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if got := d.take(); got != "add a=0 initial; synced" || !reg.HasSynced() {
			t.Errorf("told %q before Stop has returned, synced: %v", got, reg.HasSynced())
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A callback may remove its handler: OnSynced itself, which is then the last.
func TestOnSyncedCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a"), informer.Options[*thing]{})
		var d diary
		var reg *informer.Registration
		h := d.withSynced()
		h.OnSynced = func() { d.write("synced"); reg.RemoveAsync() }
		reg = r.add(h)
		r.start()
		r.fake.set("a", 1)
		d.expect(t, "add a=0 initial; synced")
		if !closed(reg.Done()) || reg.HasSynced() {
			t.Errorf("done: %v, synced: %v", closed(reg.Done()), reg.HasSynced())
		}
	})
}

// In a MultiNamespace, OnSynced waits for every namespace that there is, and comes once: not for a
// namespace that comes later.
func TestMultiOnSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newMultiRig(t, newTown("a/x", "b/x", "c/x"), informer.Options[*thing]{})
		r.town.in("b").Fail(errors.New("not now"))
		var d, late, last diary
		reg := r.handle(d.withSynced())
		r.begin("a", "b")
		r.start()
		r.town.set("a/x", 1)
		d.expect(t, "add a/x=0 initial; update a/x=0->1")
		r.handle(late.withSynced())
		late.expect(t, "add a/x=1 initial")
		if reg.HasSynced() {
			t.Error("synced without the list of b")
		}
		r.town.in("b").Fail(nil)
		later(time.Minute)
		d.expect(t, "add b/x=0 initial; synced")
		late.expect(t, "add b/x=0 initial; synced")
		r.begin("c")
		d.expect(t, "add c/x=0 initial")
		r.handle(last.withSynced())
		last.expect(t, "add a/x=1 initial; add b/x=0 initial; add c/x=0 initial; synced")
	})
}
