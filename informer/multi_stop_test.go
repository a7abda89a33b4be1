package informer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// After the end nothing can be added or removed, and whoever waits is told.
func TestMultiStops(t *testing.T) {
	for _, drained := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r := newMultiRig(t, newTown("a/x"), informer.Options[*thing]{})
			release := make(chan struct{})
			d := diary{hold: func(string) { <-release }}
			r.handle(d.handler())
			r.town.in("late").Fail(errors.New("no"))
			r.begin("a", "late")
			r.start()
			r.town.set("a/y", 0)
			synctest.Wait()
			waiting := inBackground(func() error { return r.WaitForSync(t.Context()) })
			removing := inBackground(func() error { return r.Remove(t.Context(), "a") })
			synctest.Wait()
			stopping := make(<-chan error)
			if drained {
				stopping = inBackground(func() error { return r.Stop(t.Context()) })
			} else {
				r.halt()
			}
			synctest.Wait()
			close(release)
			synctest.Wait()
			if err := <-waiting; !errors.Is(err, informer.ErrStopped) {
				t.Errorf("WaitForSync returned %v", err)
			}
			if drained {
				if err := errors.Join(<-stopping, <-removing, <-r.done); err != nil {
					t.Errorf("Stop, Remove or Run returned %v", err)
				}
				d.expect(t, "add a/x=0 initial; delete a/x=0 inferred")
			} else {
				if err := <-removing; !errors.Is(err, informer.ErrStopped) {
					t.Errorf("Remove returned %v", err)
				}
				if err := <-r.done; !errors.Is(err, context.Canceled) {
					t.Errorf("Run returned %v", err)
				}
				d.expect(t, "add a/x=0 initial")
			}
			if err := r.Add("b"); !errors.Is(err, informer.ErrStopped) || !r.IsStopped() {
				t.Errorf("Add returned %v", err)
			}
			if err := r.Remove(t.Context(), "late"); !errors.Is(err, informer.ErrStopped) {
				t.Errorf("Remove returned %v", err)
			}
		})
	}
}

// Stop before Run leaves nobody waiting.
func TestMultiStopBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newMultiRig(t, newTown("a/x"), informer.Options[*thing]{})
		r.begin("a")
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
	})
}

// Fatal of the reflector's options ends Run with an error that names the namespace.
func TestMultiFatal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newMultiRig(t, newTown("a/x"), informer.Options[*thing]{Reflector: reflector.Options{Fatal: func(error) bool { return true }}})
		r.town.in("b").Fail(errors.New("no such thing"))
		r.begin("a", "b")
		err := r.Run(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), `informer: namespace "b": `) {
			t.Errorf("Run returned %v", err)
		}
		if err := r.Run(t.Context()); !errors.Is(err, informer.ErrStarted) {
			t.Errorf("a second Run returned %v", err)
		}
	})
}

// A first list whose last entry was never applied, because Run has ended, is not synced.
func TestMultiStopsBeforeTheFirstListIsApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newMultiRig(t, newTown("a/x", "b/x"), informer.Options[*thing]{Indexers: store.Indexers[*thing]{
			"slow": func(*thing) []string { <-release; return nil },
		}})
		r.begin("a", "b")
		r.start()
		r.halt()
		synctest.Wait()
		close(release)
		synctest.Wait()
		if err := r.WaitForSync(t.Context()); !errors.Is(err, informer.ErrStopped) || r.HasSynced() {
			t.Errorf("WaitForSync returned %v with %q in the store", err, r.Store().Keys())
		}
	})
}

// A namespace that is added when Run is about to end, and removed again, keeps nobody waiting.
func TestMultiStopsBeforeANamespaceBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newMultiRig(t, newTown("a/x"), informer.Options[*thing]{Indexers: store.Indexers[*thing]{
			"slow": func(*thing) []string { <-release; return nil },
		}})
		r.begin("a")
		r.start()
		stopping := inBackground(func() error { return r.Stop(t.Context()) })
		synctest.Wait()
		r.begin("b")
		waiting := inBackground(func() error { return r.WaitForVersion(t.Context(), "b", "7") })
		synctest.Wait()
		removing := inBackground(func() error { return r.Remove(t.Context(), "b") })
		synctest.Wait()
		close(release)
		if err := <-waiting; err == nil || !strings.Contains(err.Error(), "was removed") {
			t.Errorf("WaitForVersion returned %v", err)
		}
		if err := <-removing; !errors.Is(err, informer.ErrStopped) {
			t.Errorf("Remove returned %v", err)
		}
		if err := <-stopping; err != nil {
			t.Errorf("Stop returned %v", err)
		}
	})
}

// The store of an informer is empty when it begins, so it takes no point of a reflector's options
// for its own.
func TestStartOfTheReflectorIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := informer.Options[*thing]{Reflector: reflector.Options{Start: reflector.Point{Version: "2"}}}
		r := newRig(t, newFake("a", "b"), opts)
		r.start()
		r.agree()
		m := newMultiRig(t, newTown("a/x", "b/x"), opts)
		m.begin("a", "b")
		m.start()
		m.agree("a", "b")
	})
}
