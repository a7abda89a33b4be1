package controller_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/internal/must"
)

// inBubble runs a test in virtual time, with a queue whose delays have no jitter.
func inBubble(t *testing.T, test func(t *testing.T, q *controller.Queue[string])) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		q := controller.NewQueue[string](controller.QueueOptions{Rand: func() float64 { return 0 }})
		defer q.Close()
		test(t, q)
	})
}

// ready returns the keys that can be had now, and has a worker keep them.
func ready(t *testing.T, q *controller.Queue[string]) string {
	t.Helper()
	synctest.Wait()
	var keys []string
	for q.Stats().Ready > 0 {
		keys = append(keys, get(t, q))
	}
	return strings.Join(keys, " ")
}

func get(t *testing.T, q *controller.Queue[string]) string {
	t.Helper()
	key, err := q.Get(t.Context())
	must.OK(t, err)
	return key
}

func expect(t *testing.T, q *controller.Queue[string], want string) {
	t.Helper()
	if got := ready(t, q); got != want {
		t.Errorf("ready: %q, want %q", got, want)
	}
}

func later(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestKeysOnceAndInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) {
		q.Add("b", "a", "b")
		q.Add("c")
		q.Add("a")
		expect(t, q, "b a c")
	})
}

func TestKeyOfOneWorker(t *testing.T) {
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) {
		q.Add("a")
		expect(t, q, "a")
		q.Add("a")
		q.Add("b")
		q.Add("a")
		expect(t, q, "b")
		q.Done("a")
		expect(t, q, "a")
		q.Done("a")
		q.Done("a") // nobody works on it
		q.Done("never")
		expect(t, q, "")
		if s := q.Stats(); s.Working != 1 {
			t.Errorf("%d keys are worked on, want 1", s.Working)
		}
	})
}

func TestGetWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) {
		got := make(chan string)
		for range 3 {
			go func() {
				key, err := q.Get(t.Context())
				got <- fmt.Sprint(key, err)
			}()
		}
		synctest.Wait()
		q.Add("a", "b")
		a, b := <-got, <-got
		if a+b != "a<nil>b<nil>" && a+b != "b<nil>a<nil>" {
			t.Errorf("got %s and %s", a, b)
		}
		q.Close()
		if c := <-got; c != controller.ErrClosed.Error() {
			t.Errorf("the third Get returned %q", c)
		}
	})
}

func TestGetEndsWithItsContext(t *testing.T) {
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := q.Get(ctx)
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Get returned %v", err)
		}
		q.Add("a")
		if _, err := q.Get(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Get returned %v with a context that had ended", err)
		}
		expect(t, q, "a")
	})
}

// A Get that ends does not keep another one from a key that comes at the same moment.
func TestGetEndsAsAKeyComes(t *testing.T) {
	for range 50 { // the first Get may be quick enough to have the key
		inBubble(t, func(t *testing.T, q *controller.Queue[string]) {
			ctx, cancel := context.WithCancel(t.Context())
			first, second := make(chan string), make(chan string)
			wait := func(ctx context.Context, got chan<- string) {
				key, err := q.Get(ctx)
				got <- fmt.Sprint(key, " ", err)
			}
			go wait(ctx, first)
			synctest.Wait()
			go wait(t.Context(), second)
			synctest.Wait()
			q.Add("a")
			cancel()
			switch got := <-first; got {
			case "a <nil>":
				q.Close()
				<-second
			case " context canceled":
				if got := <-second; got != "a <nil>" {
					t.Errorf("the second Get returned %s", got)
				}
			default:
				t.Errorf("the first Get returned %s", got)
			}
		})
	}
}

// A live key overtakes those of the first list, and a key of the first list becomes live by a
// change. One key in ten is of the first list all the same.
func TestFirstListGivesWay(t *testing.T) {
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) {
		for i := range 4 {
			q.AddInitial(fmt.Sprint("i", i))
		}
		q.Add("a")
		q.Add("i2")
		q.AddInitial("a")
		expect(t, q, "a i2 i0 i1 i3")
	})
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) {
		for i := range 3 {
			q.AddInitial(fmt.Sprint("i", i))
		}
		for i := range 20 {
			q.Add(fmt.Sprint(i))
		}
		expect(t, q, "0 1 2 3 4 5 6 7 8 i0 9 10 11 12 13 14 15 16 17 i1 18 19 i2")
	})
}

// A key of the first list that fails is still one when it comes back.
func TestFirstListGivesWayAfterFailure(t *testing.T) {
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) {
		q.AddInitial("i")
		expect(t, q, "i")
		q.Retry("i", 0)
		q.Done("i")
		later(time.Second)
		q.Add("a")
		expect(t, q, "a i")
	})
}

func TestAddAfter(t *testing.T) {
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) {
		q.AddAfter("a", 3*time.Second)
		q.AddAfter("b", time.Second)
		q.AddAfter("a", 2*time.Second) // the earliest counts
		q.AddAfter("a", 4*time.Second)
		q.AddAfter("now", -1)
		expect(t, q, "now")
		later(time.Second)
		expect(t, q, "b")
		later(time.Second - 1)
		expect(t, q, "")
		later(1)
		expect(t, q, "a")
		q.Done("a")
		later(time.Minute)
		expect(t, q, "") // the other times were met
	})
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) { // a change comes first, and meets the request
		q.AddAfter("a", time.Minute)
		q.Add("a")
		expect(t, q, "a")
		q.Done("a")
		later(time.Hour)
		expect(t, q, "")
	})
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) { // the time comes while the key is worked on
		q.Add("a")
		expect(t, q, "a")
		q.AddAfter("a", time.Second)
		later(time.Minute)
		expect(t, q, "")
		q.Done("a")
		expect(t, q, "a")
	})
}

func TestCloseDropsWhatWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) {
		q.Add("a")
		q.Add("b")
		get(t, q)
		q.Add("a")
		q.AddAfter("c", time.Second)
		q.Close()
		q.Close()
		q.Add("d")
		q.AddInitial("d")
		q.AddAfter("d", 1)
		q.Retry("a", 0)
		q.Done("a")
		later(time.Hour)
		if key, err := q.Get(t.Context()); !errors.Is(err, controller.ErrClosed) {
			t.Errorf("Get returned %q, %v", key, err)
		}
		if s := q.Stats(); s.Ready+s.Delayed+s.Working != 0 {
			t.Errorf("something is left: %+v", s)
		}
	})
}

// Drain lets the workers finish what is ready, and what became ready while they worked on it.
func TestDrain(t *testing.T) {
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) {
		q.Add("a")
		q.Add("b")
		get(t, q)
		q.Add("a")
		q.AddAfter("c", time.Second)
		drained := make(chan error, 1)
		go func() { drained <- q.Drain(t.Context()) }()
		synctest.Wait()
		q.Add("d")
		expect(t, q, "b")
		q.Done("a")
		expect(t, q, "a")
		q.Retry("a", 0) // it would never end
		q.Done("a")
		synctest.Wait()
		select {
		case err := <-drained:
			t.Fatalf("Drain returned %v, and b is still worked on", err)
		default:
		}
		q.Done("b")
		if err := <-drained; err != nil {
			t.Errorf("Drain returned %v", err)
		}
		if _, err := q.Get(t.Context()); !errors.Is(err, controller.ErrClosed) {
			t.Errorf("Get returned %v", err)
		}
	})
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) { // nothing to do
		if err := q.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) { // the worker takes too long
		q.Add("a")
		q.Add("b")
		get(t, q)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := q.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drain returned %v", err)
		}
		if key, err := q.Get(t.Context()); !errors.Is(err, controller.ErrClosed) {
			t.Errorf("Get returned %q, %v", key, err)
		}
	})
}

func TestStats(t *testing.T) {
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) {
		q.Add("a")
		q.AddInitial("b")
		q.AddInitial("c")
		q.AddAfter("later", time.Hour)
		later(2 * time.Second)
		get(t, q)
		later(3 * time.Second)
		q.Retry("a", 0)
		q.Done("a")
		get(t, q)
		later(time.Second / 2)
		want := controller.Stats{
			Ready: 2, Initial: 1, Delayed: 1, Working: 1, Failing: 1, Oldest: 11 * time.Second / 2, Longest: time.Second / 2,
			Unfinished: time.Second / 2, Added: 4, Given: 2, Retries: 1, Waited: 7 * time.Second, Worked: 3 * time.Second,
		}
		if got := q.Stats(); got != want {
			t.Errorf("stats\n\t%+v, want\n\t%+v", got, want)
		}
		q.Forget("a")
		if got := q.Stats().Failing; got != 0 {
			t.Errorf("%d keys fail", got)
		}
		get(t, q)
		q.Add("c") // it is ready already
		later(time.Second)
		if got := q.Stats(); got.Added != 4 || got.Longest != 3*time.Second/2 || got.Unfinished != 5*time.Second/2 {
			t.Errorf("stats of two workers %+v", got)
		}
	})
}
