package controller_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/controller"
)

// world is what the random test knows of each key.
type world struct {
	t  *testing.T
	mu sync.Mutex

	version  map[string]int // raised by each change
	done     map[string]int // the version that a worker has seen when it last succeeded
	working  map[string]bool
	failures map[string]int
	earliest map[string]time.Time // no worker may get the key before
	due      map[string]time.Time // asked for by AddAfter; a worker has the key by then
}

// TestRandom changes keys at random while workers fail at random. No key is worked on twice at
// once, each change is seen by a later call that succeeds, and no key comes back before its delay,
// or a second, has passed.
func TestRandom(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { random(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func random(t *testing.T, dice *rand.Rand) {
	w := &world{
		t: t, version: map[string]int{}, done: map[string]int{}, working: map[string]bool{}, failures: map[string]int{},
		earliest: map[string]time.Time{}, due: map[string]time.Time{},
	}
	q := controller.NewQueue[string](controller.QueueOptions{
		BackoffBase: 100 * time.Millisecond, BackoffCap: 20 * time.Second,
		Rand: rand.New(rand.NewPCG(dice.Uint64(), 2)).Float64,
	})
	var all sync.WaitGroup
	for n := range 1 + dice.IntN(5) {
		own := rand.New(rand.NewPCG(dice.Uint64(), uint64(n)))
		all.Go(func() { w.work(q, own) })
	}
	for range 400 {
		key := fmt.Sprint("k", dice.IntN(12))
		switch dice.IntN(8) {
		case 0:
			<-time.After(time.Duration(dice.IntN(3000)) * time.Millisecond)
		case 1:
			w.askLater(q, key, time.Duration(dice.IntN(5000))*time.Millisecond)
		case 2:
			w.change(key, q.AddInitial)
		default:
			w.change(key, q.Add)
		}
	}
	<-time.After(time.Hour) // a worker succeeds in the end
	synctest.Wait()
	w.mu.Lock()
	for key, version := range w.version {
		if w.done[key] != version {
			t.Errorf("%s is at version %d, and was last worked on at %d", key, version, w.done[key])
		}
	}
	for key, due := range w.due {
		t.Errorf("%s was to be given at %s", key, due)
	}
	w.mu.Unlock()
	s := q.Stats()
	if s.Ready+s.Delayed+s.Working+s.Failing != 0 {
		t.Errorf("something is left: %+v", s)
	}
	if err := q.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	all.Wait()
}

func (w *world) change(key string, add func(...string)) {
	w.mu.Lock()
	w.version[key]++
	w.mu.Unlock()
	add(key)
}

// askLater lets the queue give a key later. A time that waits is the earliest.
func (w *world) askLater(q *controller.Queue[string], key string, after time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if due := time.Now().Add(after); w.due[key].IsZero() || due.Before(w.due[key]) {
		w.due[key] = due
	}
	q.AddAfter(key, after)
}

func (w *world) work(q *controller.Queue[string], dice *rand.Rand) {
	for {
		key, err := q.Get(w.t.Context())
		if err != nil {
			return
		}
		version := w.begin(key)
		if d := dice.IntN(2000); d < 1000 {
			<-time.After(time.Duration(d) * time.Millisecond)
		}
		if dice.IntN(3) == 0 {
			w.fail(q, key)
		} else {
			w.succeed(q, key, version)
		}
		q.Done(key)
	}
}

func (w *world) begin(key string) (version int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.working[key] {
		w.t.Errorf("%s is given to two workers", key)
	}
	if early := time.Until(w.earliest[key]); early > 0 {
		w.t.Errorf("%s comes %s too early after %d failures", key, early, w.failures[key])
	}
	w.working[key] = true
	delete(w.due, key)
	return w.version[key]
}

func (w *world) fail(q *controller.Queue[string], key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures[key]++
	if n := q.Failures(key); n != w.failures[key]-1 {
		w.t.Errorf("%s has %d failures, want %d", key, n, w.failures[key]-1)
	}
	value := 100 * time.Millisecond
	for range w.failures[key] - 1 {
		value = min(2*value, 20*time.Second)
	}
	waits := q.Retry(key, 0)
	if waits >= 2*value {
		w.t.Errorf("%s waits for %s after %d failures, want less than %s", key, waits, w.failures[key], 2*value)
	}
	w.earliest[key] = time.Now().Add(min(value, time.Second)) // later if nothing changes: TestPausesGrow
	w.working[key] = false
}

func (w *world) succeed(q *controller.Queue[string], key string, version int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q.Forget(key)
	w.failures[key], w.earliest[key], w.done[key] = 0, time.Time{}, version
	w.working[key] = false
}
