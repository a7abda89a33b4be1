package informer_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/relist-go/relist/informer"
)

// TestStress adds and removes handlers, from many goroutines and from callbacks, while the informer
// starts, runs and stops and the server is busy. It is about the race detector and deadlocks: real
// goroutines, real time, and nobody waits for anything that is not promised.
func TestStress(t *testing.T) {
	for round := range 30 {
		f := newFake("a", "b", "c")
		in := informer.New(f, informer.Options[*thing]{Logger: silent})
		ctx, cancel := context.WithCancel(t.Context())
		var running atomic.Bool // until Run has returned
		running.Store(true)

		var all sync.WaitGroup
		for worker := range 16 {
			all.Go(func() {
				for i := range 20 {
					churn(t, in, &running, (worker+i)%3)
					_ = in.Store().List()
				}
			})
		}
		all.Go(func() {
			defer cancel()
			for i := range 300 {
				f.set(fmt.Sprint(i%7), i)
				if i%5 == 0 {
					f.Remove(fmt.Sprint((i + 3) % 7))
				}
				if i == 100*(round%4) {
					cancel()
				}
			}
		})
		err := in.Run(ctx)
		running.Store(false)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("Run returned %v", err)
		}
		all.Wait()
	}
}

// churn adds a handler that does something in its callbacks, and removes it in one of four ways.
func churn(t *testing.T, in *informer.Informer[*thing], running *atomic.Bool, kind int) {
	var reg *informer.Registration
	added := make(chan struct{}) // closed when reg may be read
	var removed atomic.Bool
	called := func(*thing, bool) {
		<-added
		if !running.Load() || removed.Load() {
			t.Error("a callback after Remove or Run returned")
		}
		switch kind {
		case 1:
			reg.RemoveAsync()
		case 2:
			if inner, err := in.AddHandler(informer.Handler[*thing]{}); err == nil {
				if err := inner.Remove(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
	}
	var err error
	reg, err = in.AddHandler(informer.Handler[*thing]{OnAdd: called, OnDelete: called})
	close(added)
	if err != nil {
		if !errors.Is(err, informer.ErrStopped) {
			t.Error(err)
		}
		return
	}
	if kind == 1 {
		select {
		case <-reg.Synced(): // the store was empty
		case <-reg.Done():
		}
	}
	if err := reg.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	removed.Store(true)
	select {
	case <-reg.Done():
	default:
		t.Error("Remove returned before the handler was done")
	}
}
