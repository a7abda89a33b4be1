package informer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
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

// reluctant is a server whose watch does not look at its context until it is told to: Run cannot return before.
type reluctant struct {
	*fake
	release chan struct{}
}

func (f *reluctant) Watch(context.Context, metav1.ListOptions) (listwatch.Watch[*thing], error) {
	<-f.release
	return nil, io.EOF
}

// Without Options.Problem no callback begins after a panic: neither the next of that handler, nor one of another, however
// long the reflector takes to stop.
func TestNoCallbackAfterAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &reluctant{newFake("a", "b", "c"), make(chan struct{})}
		in := informer.New(f, informer.Options[*thing]{Logger: silent})
		boom := make(chan struct{})
		var panicking, other []string
		handlers := []informer.Handler[*thing]{
			{OnAdd: func(obj *thing, _ bool) {
				panicking = append(panicking, obj.Name)
				<-boom
				panic("boom")
			}},
			{OnAdd: func(obj *thing, _ bool) {
				other = append(other, obj.Name)
				<-f.release // after the panic
			}},
		}
		for _, h := range handlers {
			if _, err := in.AddHandler(h); err != nil {
				t.Fatal(err)
			}
		}
		done := inBackground(func() error { return in.Run(t.Context()) })
		synctest.Wait()
		close(boom)
		synctest.Wait()
		if len(done) > 0 {
			t.Error("Run has returned, and the reflector has not")
		}
		close(f.release)
		if err := <-done; err == nil || !strings.Contains(err.Error(), "boom") {
			t.Errorf("Run returned %v", err)
		}
		if got := strings.Join(append(panicking, other...), " "); got != "a a" {
			t.Errorf("the handlers were called for %s, want a each", got)
		}
	})
}

// A change of two callbacks ends with the panic of the first.
func TestNoOnAddAfterOnDeletePanicked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a"), informer.Options[*thing]{})
		var calls []string
		release := make(chan struct{})
		r.add(informer.Handler[*thing]{
			OnAdd: func(obj *thing, _ bool) {
				calls = append(calls, fmt.Sprint("add ", obj.Value))
				<-release
			},
			OnDelete: func(*thing, bool) { calls = append(calls, "delete"); panic("boom") },
		})
		done := inBackground(func() error { return r.Run(t.Context()) })
		synctest.Wait()
		r.fake.gap(func() { r.fake.remove("a"); r.fake.set("a", 1) })
		later(time.Minute)
		close(release)
		if err := <-done; err == nil {
			t.Error("Run returned nil")
		}
		if got := strings.Join(calls, "; "); got != "add 0; delete" {
			t.Errorf("the handler was told %s", got)
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
		if !closed(reg.Done()) || reg.HasSynced() || len(p.all) != 1 || reg.Pending() != 0 {
			t.Errorf("done %v, synced %v, problems %v, %d pending", closed(reg.Done()), reg.HasSynced(), p.all, reg.Pending())
		}
		r.fake.set("b", 1)
		d.expect(t, "update b=0->1")
		if reg.Pending() != 0 {
			t.Errorf("%d objects wait for a handler that is gone", reg.Pending())
		}
	})
}

// Problem may do what a callback may.
func TestCancelFromProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reg *informer.Registration
		r := newRig(t, newFake("a", "b"), informer.Options[*thing]{Problem: func(error) { reg.Cancel() }})
		calls := 0
		reg = r.add(informer.Handler[*thing]{OnAdd: func(*thing, bool) { calls++; panic("once") }})
		r.start()
		if calls != 1 || !closed(reg.Done()) {
			t.Errorf("%d calls, done %v", calls, closed(reg.Done()))
		}
	})
}

// Problem may repair the cache, as a callback may: when an index function panicked, and when a callback did.
func TestProblemMayWait(t *testing.T) {
	for name, calls := range map[string]func(*informer.Informer[*thing]) error{
		"Relist":  func(in *informer.Informer[*thing]) error { return in.Relist(context.Background()) },
		"WaitFor": func(in *informer.Informer[*thing]) error { return in.WaitFor(context.Background(), "3") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				index := func(obj *thing) []string {
					if obj.Value == 13 {
						panic("unlucky")
					}
					return nil
				}
				var in *informer.Informer[*thing]
				var p problems
				r := newRig(t, newFake("a"), informer.Options[*thing]{
					Indexers: store.Indexers[*thing]{"x": index},
					Problem: func(err error) {
						p.add(err)
						if err := calls(in); err != nil {
							t.Error(err)
						}
					},
				})
				in = r.Informer
				r.add(informer.Handler[*thing]{OnUpdate: func(*thing, *thing) { panic("callback") }})
				r.start()
				r.fake.set("a", 13)
				r.fake.set("b", 1)
				synctest.Wait()
				if _, ok := in.Store().Get("b"); !ok {
					t.Error("the informer stands still")
				}
				r.fake.set("b", 2)
				synctest.Wait()
				indexed, called := 0, 0
				for _, err := range p.all {
					var failed *store.IndexError
					var panicked *informer.PanicError
					switch {
					case errors.As(err, &failed):
						indexed++
					case errors.As(err, &panicked):
						called++
					}
				}
				if indexed != 1 || called == 0 { // a list brings what cannot be indexed again, and it is not told again
					t.Errorf("problems are %v", p.all)
				}
			})
		})
	}
}

// Problems with objects wait for a Problem that is busy, the latest of each object, and the end of Run waits for neither
// them nor what Problem waits for. One that ends its goroutine is called on another.
func TestProblemsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		index := func(obj *thing) []string { panic(obj.Value) }
		release := make(chan struct{})
		var told []string
		var forever error
		var in *informer.Informer[*thing]
		r := newRig(t, newFake("a", "b"), informer.Options[*thing]{
			Indexers: store.Indexers[*thing]{"x": index},
			Problem: func(err error) {
				<-release
				var failed *store.IndexError
				errors.As(err, &failed)
				told = append(told, fmt.Sprint(failed.Key, failed.Value))
				switch failed.Value {
				case 99:
					runtime.Goexit()
				case 1000:
					forever = in.WaitFor(context.Background(), "1000")
				}
			},
		})
		in = r.Informer
		r.start()
		for i := range 100 {
			r.fake.set("b", i)
			synctest.Wait()
		}
		close(release)
		synctest.Wait()
		r.fake.set("c", 7)
		synctest.Wait()
		if got := strings.Join(told, " "); got != "a0 b99 c7" {
			t.Errorf("Problem was told of %s, want a0 b99 c7", got)
		}
		r.fake.set("c", 1000)
		synctest.Wait()
		r.stop()
		synctest.Wait()
		if len(r.done) == 0 || !errors.Is(forever, informer.ErrStopped) {
			t.Errorf("Run has returned: %v; Problem was told %v", len(r.done) > 0, forever)
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
