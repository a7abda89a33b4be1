package informer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/goexit"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// userCode is what a program can give to an informer. Each function here calls end at its first
// call of the kind that it is named for.
type userCode struct {
	at  string
	end func()
}

func (u *userCode) call(here string) {
	if u.at == here {
		u.end()
	}
}

func (u *userCode) options() informer.Options[*thing] {
	opts := informer.Options[*thing]{Logger: silent, Indexers: store.Indexers[*thing]{"x": func(*thing) []string { u.call("index"); return nil }}}
	opts.Reflector.Fatal = func(error) bool { u.call("Fatal"); return false }
	opts.Reflector.Trace = &reflector.Trace{
		RunStart:  func(reflector.RunStart) { u.call("RunStart") },
		ListDone:  func(reflector.ListDone) { u.call("ListDone") },
		WatchOpen: func() { u.call("WatchOpen") },
	}
	if u.at == "Load" || u.at == "Save" {
		opts.Checkpoint = u
	}
	return opts
}

func (u *userCode) Load(context.Context, string) ([]*thing, reflector.Point, error) {
	u.call("Load")
	return nil, reflector.Point{}, nil
}

func (u *userCode) Save(context.Context, string, reflector.Point, iter.Seq[*thing]) error {
	u.call("Save")
	return nil
}

func (u *userCode) server(keys ...string) *fake {
	f := newFake(keys...)
	f.Asked = func(_ context.Context, verb string) error {
		u.call(verb)
		if u.at == "Fatal" {
			return errors.New("away")
		}
		return nil
	}
	return f
}

func (u *userCode) handler() informer.Handler[*thing] {
	return informer.Handler[*thing]{
		Name:     "test",
		OnAdd:    func(*thing, bool) { u.call("OnAdd") },
		OnUpdate: func(_, _ *thing) { u.call("OnUpdate") },
		OnDelete: func(*thing, bool) { u.call("OnDelete") },
		OnSynced: func() { u.call("OnSynced") },
		Filter:   func(*thing) bool { u.call("Filter"); return true },
	}
}

// cached is what an Informer and a MultiNamespace have in common here.
type cached interface {
	informer.Member
	AddHandler(h informer.Handler[*thing]) (*informer.Registration, error)
	Observe(name string, observe func(informer.Change[*thing])) (*informer.Registration, error)
	Stop(ctx context.Context) error
}

var userCodes = []string{
	"OnAdd", "OnUpdate", "OnDelete", "OnSynced", "Filter", "observer", "index", "list", "watch", "RunStart", "ListDone", "WatchOpen",
	"Fatal", "Load", "Save",
}

// run runs an informer until a function of the program ends it.
func (u *userCode) run(t *testing.T, multi bool) (in cached, regs []*informer.Registration, done <-chan error) {
	f := u.server("ns/a", "ns/b")
	in = informer.New(f, u.options())
	if multi {
		m := informer.NewMultiNamespace(func(string) (source.ListWatcher[*thing], error) { return f, nil }, u.options())
		must.OK(t, m.Add("ns"))
		in = m
	}
	reg, err := in.AddHandler(u.handler())
	must.OK(t, err)
	observer, err := in.Observe("test", func(informer.Change[*thing]) { u.call("observer") })
	must.OK(t, err)
	running := inBackground(func() error { return in.Run(t.Context()) })
	synctest.Wait()
	f.set("ns/a", 1)
	f.Remove("ns/b")
	synctest.Wait()
	return in, []*informer.Registration{reg, observer}, running
}

// If a function of the program ends its goroutine, as t.FailNow does in a test, Run ends and says
// so, and so does all that waits.
func TestFunctionThatEndsItsGoroutine(t *testing.T) {
	for _, multi := range []bool{false, true} {
		for _, at := range userCodes {
			if multi && (at == "Load" || at == "Save") {
				continue // a MultiNamespace has no Checkpoint
			}
			t.Run(fmt.Sprint(at, " multi ", multi), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					in, regs, done := (&userCode{at, runtime.Goexit}).run(t, multi)
					if len(done) == 0 {
						t.Fatal("Run continues")
					}
					if err := <-done; !errors.Is(err, goexit.Err) {
						t.Errorf("Run returned %v", err)
					}
					for _, reg := range regs {
						if !closed(reg.Done()) {
							t.Error("a handler or an observer has not ended")
						}
					}
					if err := in.Stop(t.Context()); !errors.Is(err, informer.ErrStopped) {
						t.Errorf("Stop returned %v", err)
					}
					_ = in.WaitForSync(t.Context()) // it returns, whether the list came before or not
					if _, err := in.AddHandler(informer.Handler[*thing]{}); !errors.Is(err, informer.ErrStopped) {
						t.Errorf("AddHandler returned %v", err)
					}
				})
			})
		}
	}
}

// All that join at the same moment end, too, if the first of them ends the goroutine.
func TestJoiningObserverThatEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := informer.New(newFake("a"), informer.Options[*thing]{Logger: silent})
		var joined []*informer.Registration
		join := func(reg *informer.Registration, err error) {
			if err != nil {
				t.Error(err)
			}
			joined = append(joined, reg)
		}
		join(in.Observe("present", func(informer.Change[*thing]) {
			for range 2 {
				join(in.Observe("joining", func(informer.Change[*thing]) { runtime.Goexit() }))
			}
			join(in.AddHandler(informer.Handler[*thing]{Name: "joining"}))
		}))
		if err := in.Run(t.Context()); !errors.Is(err, goexit.Err) {
			t.Errorf("Run returned %v", err)
		}
		for i, reg := range joined {
			if !closed(reg.Done()) {
				t.Errorf("number %d of %d has not ended", i, len(joined))
			}
		}
	})
}

// A store that may lack a change is not saved.
func TestExitedIsNotSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		saves := 0
		u := &userCode{at: "index", end: runtime.Goexit}
		opts := u.options()
		opts.Checkpoint = &userCode{at: "Save", end: func() { saves++ }}
		in := informer.New(u.server("a", "b"), opts)
		if err := in.Run(t.Context()); !errors.Is(err, goexit.Err) || saves > 0 {
			t.Errorf("Run returned %v, and %d copies were saved", err, saves)
		}
	})
}

// A member of a Group that is no informer may end its goroutine, too.
func TestGroupMemberThatEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := informer.NewGroup()
		must.OK(t, g.Add("m", exiting{}))
		if err := g.Run(t.Context()); !errors.Is(err, goexit.Err) || !strings.Contains(err.Error(), "m:") {
			t.Errorf("Run returned %v", err)
		}
	})
}

type exiting struct{ informer.Member }

func (exiting) Run(context.Context) error { runtime.Goexit(); return nil }

// A panic ends the program, and nothing hides or delays it.
func TestPanicEndsTheProgram(t *testing.T) {
	const variable = "RELIST_TEST_PANIC"
	if at := os.Getenv(variable); at != "" {
		synctest.Test(t, func(t *testing.T) {
			_, _, done := (&userCode{at, func() { panic("by " + at) }}).run(t, false)
			t.Errorf("still here: %d", len(done))
			os.Exit(0)
		})
	}
	for _, at := range userCodes {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPanicEndsTheProgram$")
			cmd.Env = append(os.Environ(), variable+"="+at)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "panic: by "+at) || !strings.Contains(string(out), "userCode).call") {
				t.Errorf("the program ended with %v:\n%s", err, out)
			}
		})
	}
}
