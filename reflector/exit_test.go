package reflector_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/relist-go/relist/internal/goexit"
	"github.com/relist-go/relist/internal/memserver"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// exiting is a sink that ends the goroutine of one of its methods.
type exiting struct {
	reflector.Memory[partial]
	at string
}

func (s *exiting) call(here string) {
	if s.at == here {
		runtime.Goexit()
	}
}

func (s *exiting) Apply(c reflector.Change[partial]) error {
	s.call("Apply")
	return s.Memory.Apply(c)
}

func (s *exiting) BeginList(reuse bool) reflector.Replacement[partial] {
	s.call("BeginList")
	return exitingList{s.Memory.BeginList(reuse), s}
}

func (s *exiting) At(version string, point func() reflector.Point) {
	s.call("At")
	s.Memory.At(version, point)
}

type exitingList struct {
	reflector.Replacement[partial]
	sink *exiting
}

func (l exitingList) End(version string, keep []string, keepAll bool) error {
	l.sink.call("End")
	return l.Replacement.End(version, keep, keepAll)
}

// If a method of the sink, or the ListWatcher, ends its goroutine, as t.FailNow does in a test, Run
// ends. A later Run continues.
func TestFunctionThatEndsItsGoroutine(t *testing.T) {
	for _, at := range []string{"Apply", "BeginList", "At", "End", "list", "watch"} {
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, objects := memserver.New[partial](), store.New(store.Options[partial]{})
				server.Set("a", newPartial("a", "", ""))
				sink := &exiting{reflector.InMemory(objects), at}
				server.Asked = func(_ context.Context, verb string) error { sink.call(verb); return nil }
				r := reflector.New(server, sink, reflector.Options{})
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				run := func() {
					err := goexit.Err // if this goroutine ends
					defer func() { ended <- err }()
					err = r.Run(ctx)
				}
				go run()
				synctest.Wait()
				server.Set("b", newPartial("b", "", ""))
				if err := <-ended; !errors.Is(err, goexit.Err) {
					t.Errorf("Run returned %v", err)
				}
				sink.at = ""
				server.Set("c", newPartial("c", "", ""))
				go run()
				if err := r.Relist(ctx); err != nil || objects.Len() != 3 {
					t.Errorf("Relist returned %v, and the store has %q", err, objects.Keys())
				}
				cancel()
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("the second Run returned %v", err)
				}
			})
		})
	}
}
