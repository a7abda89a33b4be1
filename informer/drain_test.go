package informer_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
)

// runs is a rig whose Run is expected to return want.
func (r *rig) runs(want error) {
	r.t.Helper()
	select {
	case err := <-r.done:
		if !errors.Is(err, want) {
			r.t.Errorf("Run returned %v, want %v", err, want)
		}
	default:
		r.t.Error("Run continues")
	}
}

// background runs an informer, and leaves it to the test to end it.
func (r *rig) background() {
	ctx, cancel := context.WithCancel(r.t.Context())
	r.stop = cancel
	go func() { r.done <- r.Run(ctx) }()
	synctest.Wait()
}

// Handlers are told what waits for them: of what the store has when Stop is called, and of nothing
// after that. A handler that was added in the same moment is told, too.
func TestStopDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a", "b"), informer.Options[*thing]{})
		release := make(chan struct{})
		slow := diary{hold: func(string) { <-release }}
		var quick, late diary
		slowly := r.add(slow.handler())
		h := quick.handler()
		h.Resync = time.Second
		r.add(h)
		r.background()
		r.fake.set("b", 1)
		r.fake.set("c", 1)
		r.fake.Remove("a")
		synctest.Wait()
		if r.IsStopped() {
			t.Error("stopped before Stop")
		}
		r.add(late.handler())
		done := inBackground(func() error { return r.Stop(t.Context()) })
		synctest.Wait()
		if !r.IsStopped() || len(done) > 0 || slowly.Pending() != 3 {
			t.Errorf("stopped: %v, returned: %v, pending: %d", r.IsStopped(), len(done) > 0, slowly.Pending())
		}
		if _, err := r.AddHandler(informer.Handler[*thing]{}); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("AddHandler returned %v", err)
		}
		if err := r.WaitForVersion(t.Context(), "1000"); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("WaitForVersion returned %v", err)
		}
		r.fake.set("d", 1)
		later(time.Minute)
		close(release)
		if err := <-done; err != nil {
			t.Errorf("Stop returned %v", err)
		}
		synctest.Wait()
		r.runs(nil)
		slow.expect(t, "add a=0 initial; add b=1 initial; add c=1; delete a=0")
		quick.expect(t, "add a=0 initial; add b=0 initial; update b=0->1; add c=1; delete a=0")
		late.expect(t, "add b=1 initial; add c=1 initial")
		if !slowly.HasSynced() || !closed(slowly.Done()) {
			t.Errorf("synced: %v, done: %v", slowly.HasSynced(), closed(slowly.Done()))
		}
		if err := r.Stop(t.Context()); err != nil {
			t.Errorf("a second Stop returned %v", err)
		}
	})
}

// What ends before everything was told drops the rest.
func TestStopThatIsCut(t *testing.T) {
	tests := []struct {
		name      string
		happen    func(r *rig, cancel context.CancelFunc)
		want, run error
	}{
		{"its context ends", func(_ *rig, cancel context.CancelFunc) { cancel() }, context.Canceled, nil},
		{"the context of Run ends", func(r *rig, _ context.CancelFunc) { r.stop() }, informer.ErrStopped, context.Canceled},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, newFake("a", "b"), informer.Options[*thing]{})
				release := make(chan struct{})
				d := diary{hold: func(string) { <-release }}
				reg := r.add(d.handler())
				r.background()
				ctx, cancel := context.WithCancel(t.Context())
				done := inBackground(func() error { return r.Stop(ctx) })
				other := inBackground(func() error { return r.Stop(t.Context()) })
				synctest.Wait()
				test.happen(r, cancel)
				synctest.Wait()
				if len(r.done) > 0 {
					t.Error("Run has returned, and a callback runs")
				}
				close(release)
				if err := <-done; !errors.Is(err, test.want) {
					t.Errorf("Stop returned %v, want %v", err, test.want)
				}
				if err := <-other; !errors.Is(err, informer.ErrStopped) {
					t.Errorf("another Stop returned %v, want %v", err, informer.ErrStopped)
				}
				synctest.Wait()
				r.runs(test.run)
				d.expect(t, "add a=0 initial")
				if reg.HasSynced() || !closed(reg.Done()) {
					t.Errorf("synced: %v, done: %v", reg.HasSynced(), closed(reg.Done()))
				}
			})
		})
	}
}

func TestStopBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a"), informer.Options[*thing]{})
		var d diary
		reg := r.add(d.handler())
		observer := r.observe(told(&d))
		waiting := inBackground(func() error { return r.WaitForSync(t.Context()) })
		synctest.Wait()
		if err := r.Stop(t.Context()); err != nil {
			t.Errorf("Stop returned %v", err)
		}
		if err := <-waiting; !errors.Is(err, informer.ErrStopped) {
			t.Errorf("WaitForSync returned %v", err)
		}
		if err := r.Run(t.Context()); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("Run returned %v", err)
		}
		if !closed(reg.Done()) || !closed(observer.Done()) || !r.IsStopped() {
			t.Error("it is not over")
		}
		d.expect(t, "")
	})
}

// Stop ends an informer whose list does not come, and one that has synced empty.
func TestStopWhereverItIs(t *testing.T) {
	for _, stuck := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			if stuck {
				f.unanswered("list")
			}
			in := informer.New(f, informer.Options[*thing]{Logger: silent})
			reg, err := in.AddHandler(informer.Handler[*thing]{})
			must.OK(t, err)
			done := inBackground(func() error { return in.Run(t.Context()) })
			synctest.Wait()
			if err := in.Stop(t.Context()); err != nil {
				t.Errorf("Stop returned %v", err)
			}
			if err := <-done; err != nil {
				t.Errorf("Run returned %v", err)
			}
			if reg.HasSynced() == stuck {
				t.Errorf("stuck: %v, synced: %v", stuck, reg.HasSynced())
			}
		})
	}
}

// After the end of Run nothing more can be told.
func TestStopAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a"), informer.Options[*thing]{})
		r.background()
		r.stop()
		synctest.Wait()
		if err := r.Stop(t.Context()); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("Stop returned %v", err)
		}
		r.runs(context.Canceled)
	})
}

// A controller whose informer is stopped ends with an error that says so.
func TestStopUnderAController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a"), informer.Options[*thing]{})
		reconciled := make(chan string, 10)
		done := inBackground(func() error {
			return controller.Run(t.Context(), func(_ context.Context, key string) (time.Duration, error) {
				reconciled <- key
				return 0, nil
			}, controller.Options{Logger: silent}, controller.For(r.Informer))
		})
		<-reconciled
		if err := r.Stop(t.Context()); err != nil {
			t.Errorf("Stop returned %v", err)
		}
		if err := <-done; !errors.Is(err, informer.ErrStopped) {
			t.Errorf("controller.Run returned %v", err)
		}
	})
}

// Several calls of Stop before Run do no harm to each other, also with a context that has ended.
func TestStopSeveralTimesBeforeRun(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		in := informer.New(newFake(), informer.Options[*thing]{Logger: silent})
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if err := in.Stop(ended); err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("Stop returned %v", err)
				}
			})
		}
		all.Wait()
	}
}
