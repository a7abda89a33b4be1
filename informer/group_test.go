package informer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/reflector"
)

// follow returns an informer of a fake server, for a group.
func follow(f *fake, opts informer.Options[*thing]) *informer.Informer[*thing] {
	opts.Logger = silent
	return informer.New(f, opts)
}

// runGroup runs a group until the test ends.
func runGroup(t *testing.T, g *informer.Group) {
	t.Helper()
	t.Cleanup(running(t, g))
	synctest.Wait()
}

// join adds a member, and fails the test if that is an error.
func join(t *testing.T, g *informer.Group, name string, m informer.Member) {
	t.Helper()
	must.OK(t, g.Add(name, m))
}

func waitForGroup(g *informer.Group, d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return g.WaitForSync(ctx)
}

func TestGroupAddsBeforeAndWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := informer.NewGroup()
		early, late := follow(newFake("a"), informer.Options[*thing]{}), follow(newFake("a", "b"), informer.Options[*thing]{})
		join(t, g, "early", early)
		runGroup(t, g)
		join(t, g, "late", late)
		must.OK(t, waitForGroup(g, time.Minute))
		if early.Store().Len() != 1 || late.Store().Len() != 2 {
			t.Errorf("the stores have %d and %d objects, want 1 and 2", early.Store().Len(), late.Store().Len())
		}
		if err := g.Add("late", follow(newFake(), informer.Options[*thing]{})); err == nil {
			t.Error("a second member of the same name was added")
		}
		if err := g.Run(t.Context()); !errors.Is(err, informer.ErrStarted) {
			t.Errorf("a second Run returned %v, want %v", err, informer.ErrStarted)
		}
	})
}

func TestGroupNamesWhoIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := newFake()
		refused.Fail(apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", nil))
		g := informer.NewGroup()
		join(t, g, "pods", follow(newFake("a"), informer.Options[*thing]{}))
		join(t, g, "secrets", follow(refused, informer.Options[*thing]{}))
		join(t, g, "jobs", follow(newFake(), informer.Options[*thing]{}))
		runGroup(t, g)
		err := waitForGroup(g, time.Minute)
		var late *informer.LateError
		if !errors.As(err, &late) || late.Of != 3 || len(late.Late) != 1 || late.Late[0].Name != "secrets" {
			t.Fatalf("WaitForSync returned %v, want one of three late: secrets", err)
		}
		if !apierrors.IsForbidden(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v does not say that the server refuses, and that the time is up", err)
		}
		must.OK(t, g.Stop(t.Context(), "secrets"))
		if err := waitForGroup(g, time.Minute); err != nil {
			t.Errorf("without secrets: %v", err)
		}
	})
}

// TestGroupStopsOne shows that the member has ended when Stop returns, that the others go on, and
// that the name is free.
func TestGroupStopsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := informer.NewGroup()
		server := newFake("a")
		stays, goes := follow(server, informer.Options[*thing]{}), follow(newFake("a"), informer.Options[*thing]{})
		join(t, g, "stays", stays)
		join(t, g, "goes", goes)
		runGroup(t, g)
		must.OK(t, g.Stop(t.Context(), "goes"))
		if _, err := goes.AddHandler(informer.Handler[*thing]{}); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("after Stop, AddHandler returned %v, want %v", err, informer.ErrStopped)
		}
		join(t, g, "goes", follow(newFake("b"), informer.Options[*thing]{}))
		server.set("b", 1)
		synctest.Wait()
		if stays.Store().Len() != 2 {
			t.Errorf("the member that stays has %d objects, want 2", stays.Store().Len())
		}
		if err := g.Stop(t.Context(), "nobody"); err != nil {
			t.Errorf("Stop of a name that the group does not have: %v", err)
		}
	})
}

// TestGroupStopIsBounded stops a member whose callback does not return.
func TestGroupStopIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		in := follow(newFake("a"), informer.Options[*thing]{})
		if _, err := in.AddHandler(informer.Handler[*thing]{OnAdd: func(*thing, bool) { <-release }}); err != nil {
			t.Fatal(err)
		}
		g := informer.NewGroup()
		join(t, g, "busy", in)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- g.Run(ctx) }()
		synctest.Wait()
		short, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		if err := g.Stop(short, "busy"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Stop returned %v, want %v", err, context.DeadlineExceeded)
		}
		cancel()
		synctest.Wait()
		select {
		case err := <-done:
			t.Errorf("Run returned %v while a member still ran", err)
		default:
		}
	})
}

func TestGroupEndsWithTheFirstError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := informer.NewGroup()
		gone := newFake()
		gone.Fail(errors.New("not found"))
		opts := informer.Options[*thing]{}
		opts.Reflector.Fatal = func(error) bool { return true }
		broken := follow(gone, opts)
		other := follow(newFake(), informer.Options[*thing]{})
		join(t, g, "broken", broken)
		join(t, g, "other", other)
		err := g.Run(t.Context())
		var outage *reflector.OutageError
		if !errors.As(err, &outage) || err.Error() != "informer: broken: "+outage.Error() {
			t.Errorf("Run returned %v, want the outage of broken", err)
		}
		if _, err := other.AddHandler(informer.Handler[*thing]{}); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("the other member still runs: %v", err)
		}
		if err := g.Add("more", follow(newFake(), informer.Options[*thing]{})); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("Add after the end returned %v, want %v", err, informer.ErrStopped)
		}
		if err := g.Stop(t.Context(), "more"); err != nil {
			t.Errorf("Stop after the end: %v", err)
		}
	})
}

// TestGroupKeepsRunningWithout shows that a member whose Run returns nil leaves the group, and
// another can take its name.
func TestGroupKeepsRunningWithout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := newFake()
		away.Fail(errors.New("away"))
		g, gone, next := informer.NewGroup(), follow(away, informer.Options[*thing]{}), follow(newFake("a", "b"), informer.Options[*thing]{})
		join(t, g, "shops", gone)
		runGroup(t, g)
		waiting := inBackground(func() error { return g.WaitForSync(t.Context()) })
		synctest.Wait()
		must.OK(t, gone.Stop(t.Context()))
		if err := <-waiting; err != nil {
			t.Errorf("WaitForSync returned %v for a member that has left", err)
		}
		join(t, g, "shops", next)
		if err := waitForGroup(g, time.Minute); err != nil || next.Store().Len() != 2 {
			t.Errorf("the next member has %d objects, want 2: %v", next.Store().Len(), err)
		}
	})
}

func TestGroupWaitsInVainAfterItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFake()
		server.Fail(errors.New("away"))
		g := informer.NewGroup()
		join(t, g, "pods", follow(server, informer.Options[*thing]{}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		result := make(chan error, 1)
		go func() { result <- g.WaitForSync(t.Context()) }()
		if err := g.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if err := <-result; !errors.Is(err, informer.ErrStopped) {
			t.Errorf("WaitForSync returned %v, want %v", err, informer.ErrStopped)
		}
	})
}

// TestGroupUnderLoad adds and stops members from several goroutines, while the group runs and while
// it ends.
func TestGroupUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := informer.NewGroup()
		stop := running(t, g)
		var users sync.WaitGroup
		for i := range 8 {
			users.Go(func() {
				for j := range 20 {
					name := fmt.Sprint("type-", (i+j)%5)
					if err := g.Add(name, follow(newFake("a"), informer.Options[*thing]{})); errors.Is(err, informer.ErrStopped) {
						return
					}
					<-time.After(time.Duration(i+j) * time.Millisecond)
					if err := g.Stop(t.Context(), name); err != nil {
						t.Error(err)
					}
				}
			})
		}
		<-time.After(200 * time.Millisecond)
		stop()
		users.Wait()
		if got := g.Status(); len(got) != 0 {
			t.Errorf("the group has %v after its end", got)
		}
	})
}

// TestGroupDoesNotWaitForWhatNeverStarts stops a member before the group runs, and ends a group
// before it has started its members.
func TestGroupDoesNotWaitForWhatNeverStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := informer.NewGroup()
		pods := follow(newFake(), informer.Options[*thing]{})
		join(t, g, "pods", pods)
		waiting := inBackground(func() error { return g.WaitForSync(t.Context()) })
		synctest.Wait()
		must.OK(t, g.Stop(t.Context(), "pods"))
		if err := <-waiting; err != nil {
			t.Errorf("after Stop, WaitForSync returned %v", err)
		}
		if !pods.IsStopped() {
			t.Error("Stop has returned, and the member has not stopped")
		}
		join(t, g, "nodes", follow(newFake(), informer.Options[*thing]{}))
		waiting = inBackground(func() error { return g.WaitForSync(t.Context()) })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := g.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if err := <-waiting; !errors.Is(err, informer.ErrStopped) {
			t.Errorf("after the end of the group, WaitForSync returned %v, want %v", err, informer.ErrStopped)
		}
		if got := g.Status(); len(got) != 0 {
			t.Errorf("the group has %v after its end", got)
		}
	})
}

// lister is a Member that has no Status.
type lister struct{}

func (lister) Run(ctx context.Context) error     { <-ctx.Done(); return ctx.Err() }
func (lister) WaitForSync(context.Context) error { return nil }

func TestGroupStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		away := errors.New("away")
		broken, town := newFake("s"), newTown("a/x", "b/x")
		broken.Fail(away)
		town.in("b").Fail(away)
		multi := informer.NewMultiNamespace(town.open, informer.Options[*thing]{Logger: silent})
		for _, namespace := range []string{"b", "a"} {
			must.OK(t, multi.Add(namespace))
		}
		g := informer.NewGroup()
		if got := g.Status(); got != nil {
			t.Errorf("a group without members has %v", got)
		}
		join(t, g, "secrets", follow(broken, informer.Options[*thing]{}))
		join(t, g, "pods", follow(newFake("a"), informer.Options[*thing]{}))
		join(t, g, "maps", multi)
		join(t, g, "own", lister{})

		expect := func(want ...string) {
			t.Helper()
			var got []string
			for _, s := range g.Status() {
				since, err := s.Failing()
				if err != nil && !since.Equal(began) {
					t.Errorf("%s has failed since %v, want %v", s.Name, since, began)
				}
				if err == nil && !since.IsZero() {
					t.Errorf("%s does not fail, and does since %v", s.Name, since)
				}
				got = append(got, fmt.Sprintf("%s %q %s failing=%v", s.Name, s.Namespace, s.State, err))
			}
			if !slices.Equal(got, want) {
				t.Errorf("status is\n%q, want\n%q", got, want)
			}
		}
		expect(
			`maps "a" stopped failing=<nil>`, `maps "b" stopped failing=<nil>`,
			`pods "" stopped failing=<nil>`, `secrets "" stopped failing=<nil>`)
		runGroup(t, g)
		later(time.Hour + time.Millisecond)
		expect(
			`maps "a" watching failing=<nil>`, `maps "b" waiting failing=away`,
			`pods "" watching failing=<nil>`, `secrets "" waiting failing=away`)

		broken.Fail(nil)
		later(time.Minute)
		must.OK(t, g.Stop(t.Context(), "maps"))
		expect(`pods "" watching failing=<nil>`, `secrets "" watching failing=<nil>`)
	})
}
