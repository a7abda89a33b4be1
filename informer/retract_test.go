package informer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
)

// What a handler is told by Retract if changes wait for it while it is busy with another object. It knows a, and not n.
func TestRetractMerges(t *testing.T) {
	tests := []struct {
		name   string
		happen func(f *fake)
		want   string
	}{
		{"nothing waits", func(*fake) {}, "delete a=0 unknown"},
		{"update", func(f *fake) { f.set("a", 1) }, "delete a=1 unknown"},
		{"create", func(f *fake) { f.set("n", 1) }, "delete a=0 unknown"},
		{"delete", func(f *fake) { f.remove("a") }, "delete a=0"},
		{"delete, create", func(f *fake) { f.remove("a"); f.set("a", 1) }, "delete a=0"},
		{"create, delete", func(f *fake) { f.set("n", 1); f.remove("n") }, "delete a=0 unknown"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, newFake("a", "busy"), informer.Options[*thing]{})
				release := make(chan struct{})
				d := diary{hold: func(line string) {
					if line == "update busy=0->1" {
						<-release
					}
				}}
				reg := r.add(d.handler())
				r.start()
				d.expect(t, "add a=0 initial; add busy=0 initial")
				r.fake.set("busy", 1)
				synctest.Wait() // the handler is in its callback
				test.happen(r.fake)
				synctest.Wait()
				done := inBackground(func() error { return reg.Retract(t.Context()) })
				synctest.Wait()
				if len(done) > 0 {
					t.Error("Retract has returned, and a callback runs")
				}
				r.fake.set("late", 1) // comes after Retract, and is not told
				r.fake.set("a", 9)
				synctest.Wait()
				close(release)
				if err := <-done; err != nil {
					t.Errorf("Retract returned %v", err)
				}
				d.expect(t, "update busy=0->1; "+test.want+"; delete busy=1 unknown")
				if !closed(reg.Done()) || reg.Pending() != 0 {
					t.Errorf("done: %v, pending: %d", closed(reg.Done()), reg.Pending())
				}
				r.agree()
			})
		})
	}
}

// A handler that has been told nothing is only removed, and other handlers hear nothing of it.
func TestRetractBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a"), informer.Options[*thing]{})
		var d, other diary
		reg := r.add(d.handler())
		r.add(other.handler())
		if err := reg.Retract(t.Context()); err != nil {
			t.Error(err)
		}
		r.start()
		d.expect(t, "")
		other.expect(t, "add a=0 initial")
	})
}

// Only what has passed the filter is taken back.
func TestRetractWithAFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a", "b"), informer.Options[*thing]{})
		var d diary
		h := d.handler()
		h.Filter = func(obj *thing) bool { return obj.Name == "b" }
		h.Resync = time.Second
		reg := r.add(h)
		r.start()
		d.expect(t, "add b=0 initial")
		if err := reg.Retract(t.Context()); err != nil {
			t.Error(err)
		}
		later(time.Minute)
		d.expect(t, "delete b=0 unknown")
		if err := reg.Retract(t.Context()); err != nil {
			t.Errorf("a second Retract returned %v", err)
		}
	})
}

func TestRetractObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a", "b"), informer.Options[*thing]{})
		var d diary
		reg := r.observe(told(&d))
		r.start()
		d.expect(t, "a none->0 initial; b none->0 initial")
		if err := reg.Retract(t.Context()); err != nil {
			t.Error(err)
		}
		r.fake.set("a", 1)
		d.expect(t, "a 0->none; b 0->none")
	})
}

// Whatever keeps a handler from being told everything, Retract says so, and the handler is removed.
func TestRetractThatFails(t *testing.T) {
	tests := []struct {
		name   string
		happen func(r *rig, reg *informer.Registration, cancel context.CancelFunc)
		want   error
	}{
		{"its context ends", func(_ *rig, _ *informer.Registration, cancel context.CancelFunc) { cancel() }, context.Canceled},
		{"Cancel", func(_ *rig, reg *informer.Registration, _ context.CancelFunc) { reg.Cancel() }, informer.ErrRemoved},
		{"Run ends", func(r *rig, _ *informer.Registration, _ context.CancelFunc) { r.stop() }, informer.ErrStopped},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, newFake("a", "b"), informer.Options[*thing]{})
				release := make(chan struct{})
				d := diary{hold: func(line string) {
					if line == "delete a=0 unknown" {
						<-release
					}
				}}
				reg := r.add(d.handler())
				r.start()
				d.expect(t, "add a=0 initial; add b=0 initial")
				ctx, cancel := context.WithCancel(t.Context())
				done := inBackground(func() error { return reg.Retract(ctx) })
				synctest.Wait()
				test.happen(r, reg, cancel)
				synctest.Wait()
				close(release)
				if err := <-done; !errors.Is(err, test.want) {
					t.Errorf("Retract returned %v, want %v", err, test.want)
				}
				d.expect(t, "delete a=0 unknown")
				if !closed(reg.Done()) {
					t.Error("the handler is still there")
				}
			})
		})
	}
}
