package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// panicking is a store that panics once when it is told to.
type panicking struct {
	*store.Store[partial]
	armed atomic.Bool
}

func (s *panicking) Update(obj partial) error {
	if s.armed.CompareAndSwap(true, false) {
		panic("the sink")
	}
	return s.Store.Update(obj)
}

// recovering runs r until it panics or ends, and returns what came of it.
func recovering(ctx context.Context, r *reflector.Reflector[partial]) <-chan error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				done <- fmt.Errorf("panic: %v", v)
			}
		}()
		done <- r.Run(ctx)
	}()
	return done
}

// A program that recovers from a panic in a function of Trace and runs the reflector again has not lost a list.
func TestPanicInTraceLosesNoList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newScripted()
		server.list = func(metav1.ListOptions) (*listwatch.Page[partial], error) {
			return pageOf("100", newPartial("a", "u", "90")), nil
		}
		var armed atomic.Bool
		known := store.New(store.Options[partial]{})
		r := reflector.New[partial](server, known, reflector.Options{Rand: zero, Trace: &reflector.Trace{
			Problem: func(reflector.Problem) {
				if armed.CompareAndSwap(true, false) {
					panic("the trace")
				}
			},
		}})
		ctx, cancel := context.WithCancel(t.Context())
		first := recovering(ctx, r)
		synctest.Wait()
		// A backup is restored, which has another object and an older version.
		server.list = func(metav1.ListOptions) (*listwatch.Page[partial], error) {
			return pageOf("96", newPartial("b", "v", "95")), nil
		}
		server.ask = func(_ context.Context, name string) (*listwatch.Page[partial], error) {
			if name == "b" {
				return pageOf("96", newPartial("b", "v", "95")), nil
			}
			return pageOf("96"), nil
		}
		armed.Store(true)
		go func() { _ = r.Relist(ctx) }() // it is waited for below
		if err := <-first; err == nil || err.Error() != "panic: the trace" {
			t.Fatalf("Run ended with %v, want the panic", err)
		}
		second := recovering(ctx, r)
		later(10 * time.Minute)
		if keys := fmt.Sprint(known.Keys()); keys != "[b]" {
			t.Errorf("the copy has %s, want [b] as the server has", keys)
		}
		cancel()
		if err := <-second; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v, want that it was canceled", err)
		}
	})
}

// A program that recovers from a panic in its sink and runs the reflector again has not lost an event.
func TestPanicInTheSinkLosesNoEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newScripted()
		version := "100"
		server.list = func(metav1.ListOptions) (*listwatch.Page[partial], error) {
			return pageOf("100", newPartial("a", "u", "90")), nil
		}
		server.ask = func(context.Context, string) (*listwatch.Page[partial], error) {
			return pageOf(version, newPartial("a", "u", version)), nil
		}
		known := &panicking{Store: store.New(store.Options[partial]{})}
		r := reflector.New[partial](server, known, reflector.Options{Rand: zero})
		ctx, cancel := context.WithCancel(t.Context())
		first := recovering(ctx, r)
		stream := <-server.streams
		known.armed.Store(true)
		version = "101"
		stream.event(listwatch.Modified, newPartial("a", "u", "101"))
		if err := <-first; err == nil || err.Error() != "panic: the sink" {
			t.Fatalf("Run ended with %v, want the panic", err)
		}
		if safe := r.Status().SafeVersion; safe != "100" {
			t.Errorf("safe version is %s, and the sink lacks 101", safe)
		}
		second := recovering(ctx, r)
		later(time.Minute)
		if obj, _ := known.Get("a"); obj.ResourceVersion != "101" {
			t.Errorf("a is held at %s, and is at 101", obj.ResourceVersion)
		}
		cancel()
		if err := <-second; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v, want that it was canceled", err)
		}
	})
}
