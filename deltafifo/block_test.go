package deltafifo_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/relist-go/relist/deltafifo"
)

func TestPopWaits(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(q *deltafifo.Queue[*testObject], cancel context.CancelFunc)
		want error
	}{
		{"for an entry", func(q *deltafifo.Queue[*testObject], _ context.CancelFunc) { _ = q.Add(obj("a@1")) }, nil},
		{"for the context", func(_ *deltafifo.Queue[*testObject], cancel context.CancelFunc) { cancel() }, context.Canceled},
		{"for Close", func(q *deltafifo.Queue[*testObject], _ context.CancelFunc) { q.Close() }, deltafifo.ErrClosed},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := deltafifo.New(options{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				result := make(chan error, 1)
				go func() { result <- popOne(ctx, q) }()
				synctest.Wait()
				select {
				case err := <-result:
					t.Fatalf("Pop did not wait: %v", err)
				default:
				}
				test.do(q, cancel)
				if err := <-result; !errors.Is(err, test.want) {
					t.Errorf("Pop: %v, want %v", err, test.want)
				}
			})
		})
	}
}

func TestCloseWakesEveryPop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := deltafifo.New(options{})
		const pops = 10
		results := make(chan error, pops)
		for range pops {
			go func() { results <- popOne(t.Context(), q) }()
		}
		synctest.Wait()
		q.Close()
		q.Close()
		for range pops {
			if err := <-results; !errors.Is(err, deltafifo.ErrClosed) {
				t.Errorf("Pop: %v, want ErrClosed", err)
			}
		}
	})
}

// After Close, Pop still returns the entries that are queued, and nothing can be added.
func TestClosedQueueIsEmptied(t *testing.T) {
	f := newFixture(t, options{}, "z@1")
	f.add("a@1")
	f.q.Close()
	for _, err := range []error{
		f.q.Add(obj("b@1")), f.q.Update(obj("b@1")), f.q.Delete(obj("a@1")), f.q.Delete(obj("z@1")),
		f.q.Replace(objs("b@1"), "1"), f.q.Resync(),
	} {
		if !errors.Is(err, deltafifo.ErrClosed) {
			t.Errorf("a producer's call: %v, want ErrClosed", err)
		}
	}
	f.want("a: Added@1")
	if err := popOne(t.Context(), f.q); !errors.Is(err, deltafifo.ErrClosed) {
		t.Errorf("Pop: %v, want ErrClosed", err)
	}
}

func TestPopWithEndedContextTakesNothing(t *testing.T) {
	f := newFixture(t, options{})
	f.add("a@1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := popOne(ctx, f.q); !errors.Is(err, context.Canceled) {
		t.Errorf("Pop: %v, want Canceled", err)
	}
	f.want("a: Added@1")
}

// A Pop that is woken for an entry and cancelled at the same moment must not take the wakeup with
// it.
func TestCancelLosesNoWakeup(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			q := deltafifo.New(options{})
			ctx, cancel := context.WithCancel(t.Context())
			results := make(chan error, 2)
			for _, c := range []context.Context{ctx, t.Context()} {
				go func() { results <- popOne(c, q) }()
			}
			synctest.Wait()
			go cancel()
			_ = q.Add(obj("a@1"))
			first := <-results
			if errors.Is(first, context.Canceled) {
				first = <-results // the other one has to take it: else the bubble is deadlocked and the test fails
			}
			if first != nil {
				t.Errorf("Pop: %v", first)
			}
			q.Close() // for the one that still waits, if it does
			synctest.Wait()
		})
	}
}

// While one entry is being processed, another Pop waits, so entries are processed in the order of
// the queue.
func TestPopsRunOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := deltafifo.New(options{})
		var order []string // not guarded: the race detector would see two at once
		release := make(chan struct{})
		var pops sync.WaitGroup
		for range 3 {
			pops.Go(func() {
				err := q.Pop(t.Context(), func(e deltafifo.Entry[*testObject]) error {
					order = append(order, e.Key)
					<-release
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		for _, s := range []string{"c@1", "a@1", "b@1"} {
			_ = q.Add(obj(s))
		}
		for range 3 {
			synctest.Wait()
			release <- struct{}{}
		}
		pops.Wait()
		if got := fmt.Sprint(order); got != "[c a b]" {
			t.Errorf("processed %s, want [c a b]", got)
		}
	})
}
