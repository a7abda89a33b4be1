package informer_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/store"
)

// problems collects what Options.Problem is told.
type problems struct {
	mu  sync.Mutex
	all []error
}

func (p *problems) add(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, err)
}

func onNamed(name string, f func()) func(*thing, bool) {
	return func(obj *thing, _ bool) {
		if obj.Name == name {
			f()
		}
	}
}

// Without Options.Problem a panic ends Run, which says whose it was.
func TestPanicEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a", "b"), informer.Options[*thing]{})
		r.add(informer.Handler[*thing]{Name: "dns", OnAdd: onNamed("b", func() { panic(io.ErrShortWrite) })})
		err := r.Run(t.Context())
		var panicked *informer.PanicError
		if !errors.As(err, &panicked) || !errors.Is(err, io.ErrShortWrite) {
			t.Fatalf("Run returned %v, want a PanicError of %v", err, io.ErrShortWrite)
		}
		if want := `informer: handler "dns": OnAdd of "b": panic: short write`; err.Error() != want {
			t.Errorf("error is %q, want %q", err, want)
		}
		if !strings.Contains(string(panicked.Stack), "TestPanicEndsRun") {
			t.Errorf("the stack does not show where it was:\n%s", panicked.Stack)
		}
	})
}

// With it, the handler goes on with the next object, and still syncs.
func TestPanicReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p problems
		r := newRig(t, newFake("a", "b", "c"), informer.Options[*thing]{Problem: p.add})
		var d diary
		d.hold = func(line string) {
			if strings.Contains(line, " b=0") {
				panic("odd object")
			}
		}
		reg := r.add(d.handler())
		r.start()
		d.expect(t, "add a=0 initial; add c=0 initial")
		if !reg.HasSynced() {
			t.Error("not synced")
		}
		r.fake.remove("b")
		r.fake.set("a", 1)
		d.expect(t, "update a=0->1")
		if len(p.all) != 2 || p.all[1].Error() != `informer: handler: OnDelete of "b": panic: odd object` {
			t.Errorf("problems are %v", p.all)
		}
	})
}

// A callback that ends its goroutine, as t.FailNow does, takes its handler with it, and nothing else.
func TestGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p problems
		r := newRig(t, newFake("a", "b"), informer.Options[*thing]{Problem: p.add})
		reg := r.add(informer.Handler[*thing]{OnAdd: func(*thing, bool) { runtime.Goexit() }})
		var d diary
		r.add(d.handler())
		r.start()
		d.expect(t, "add a=0 initial; add b=0 initial")
		if !closed(reg.Done()) || reg.HasSynced() || len(p.all) != 1 {
			t.Errorf("done %v, synced %v, problems %v", closed(reg.Done()), reg.HasSynced(), p.all)
		}
	})
}

// Problem may do what a callback may.
func TestRemoveFromProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reg *informer.Registration
		r := newRig(t, newFake("a", "b"), informer.Options[*thing]{Problem: func(error) { reg.Remove() }})
		calls := 0
		reg = r.add(informer.Handler[*thing]{OnAdd: func(*thing, bool) { calls++; panic("once") }})
		r.start()
		if calls != 1 || !closed(reg.Done()) {
			t.Errorf("%d calls, done %v", calls, closed(reg.Done()))
		}
	})
}

// An object that cannot be indexed stays as it was, for readers and handlers alike, until it changes again.
func TestIndexPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		index := func(obj *thing) []string {
			if obj.Value == 13 {
				panic("unlucky")
			}
			return nil
		}
		var p problems
		r := newRig(t, newFake("a", "b"), informer.Options[*thing]{Indexers: store.Indexers[*thing]{"x": index}, Problem: p.add})
		var d diary
		r.add(d.handler())
		r.start()
		r.fake.set("a", 13)
		r.fake.set("b", 1)
		d.expect(t, "add a=0 initial; add b=0 initial; update b=0->1")
		var failed *store.IndexError
		if len(p.all) != 1 || !errors.As(p.all[0], &failed) || failed.Key != "a" {
			t.Fatalf("problems are %v", p.all)
		}
		if obj, _ := r.Store().Get("a"); obj.Value != 0 {
			t.Errorf("store holds a=%d, want 0", obj.Value)
		}
		r.fake.set("a", 14)
		d.expect(t, "update a=0->14")
	})
}

func TestIndexPanicEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		index := func(*thing) []string { panic(context.Canceled) } // even if it looks like the end of a context
		r := newRig(t, newFake("a"), informer.Options[*thing]{Indexers: store.Indexers[*thing]{"x": index}})
		var failed *store.IndexError
		if err := r.Run(t.Context()); !errors.As(err, &failed) {
			t.Errorf("Run returned %v, want an IndexError", err)
		}
	})
}
