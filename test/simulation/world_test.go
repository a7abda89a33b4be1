package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// world is a server, a reflector with its queue, a consumer, and somebody who changes
// objects. It lives in a synctest bubble.
type world struct {
	t      *testing.T
	rand   *rand.Rand // of the goroutine of the test
	server *server
	queue  *deltafifo.Queue[*object]
	*reflector.Reflector[*object]
	sink *moody

	stop context.CancelFunc
	done chan error

	consumer sync.WaitGroup
	patience func() time.Duration // how long the consumer thinks over an entry

	mu     sync.Mutex // guards all below
	store  *store.Store[*object]
	ledger *ledger

	counts
	restarts int
}

// dice returns one of the independent sources of a seed.
func dice(seed, which uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, which)) }

func newWorld(t *testing.T, seed uint64) *world {
	r := dice(seed, 0)
	w := &world{t: t, rand: r, server: newServer(dice(seed, 1)), ledger: newLedger()}
	w.server.marks = []time.Duration{0, time.Minute, 10 * time.Second}[r.IntN(3)]
	w.server.latency = []time.Duration{0, time.Millisecond, time.Second}[r.IntN(3)]
	w.store = store.New(store.Options[*object]{})
	w.queue = deltafifo.New(deltafifo.Options[*object]{Known: w.store, Coalesce: r.IntN(2) == 0})
	w.sink = &moody{Queue: w.queue, rand: dice(seed, 2), rate: []float64{0, 0, 0.02}[r.IntN(3)]}
	jitter := dice(seed, 3)
	opts := reflector.Options{
		PageSize:        []int{0, 0, 1, 3, -1}[r.IntN(5)],
		Initial:         []reflector.InitialList{reflector.FromCache, reflector.Consistent, reflector.Streaming}[r.IntN(3)],
		Resync:          []time.Duration{0, 0, 7 * time.Minute}[r.IntN(3)],
		MinWatchTimeout: []time.Duration{0, time.Second, 30 * time.Second}[r.IntN(3)],
		Rand:            jitter.Float64,
		Trace:           telling(t, &w.counts),
	}
	if r.IntN(4) == 0 { // a slow consumer, which stops altogether now and then
		slow := dice(seed, 4)
		w.patience = func() time.Duration {
			if slow.IntN(50) == 0 {
				return time.Duration(slow.Int64N(int64(5 * time.Minute)))
			}
			return time.Duration(slow.Int64N(int64(time.Second)))
		}
	}
	w.Reflector = reflector.New(w.server, reflector.InQueue[*object](w.sink), opts)
	return w
}

// start runs the reflector.
func (w *world) start() {
	ctx, cancel := context.WithCancel(context.Background())
	w.stop, w.done = cancel, make(chan error, 1)
	go func(done chan<- error) { done <- w.Run(ctx) }(w.done)
}

// halt stops the reflector, which must not take any time.
func (w *world) halt() {
	began := time.Now()
	w.stop()
	err := <-w.done
	if took := time.Since(began); took != 0 || !errors.Is(err, context.Canceled) {
		w.t.Errorf("Run returned %v %s after it was stopped, want %v at once", err, took, context.Canceled)
	}
	if status := w.Status(); status.State != reflector.Stopped {
		w.t.Errorf("Status is %v after Run has returned", status.State)
	}
}

// consume takes entries until the queue is closed.
func (w *world) consume() {
	w.consumer.Go(func() {
		for {
			err := w.queue.Pop(context.Background(), w.process)
			if errors.Is(err, deltafifo.ErrClosed) {
				return
			}
			if err != nil {
				w.t.Errorf("consume an entry: %v", err)
			}
		}
	})
}

func (w *world) process(e deltafifo.Entry[*object]) error {
	if w.patience != nil {
		<-time.After(w.patience())
	}
	for _, d := range e.Deltas {
		if *one != 0 && testing.Verbose() {
			w.t.Logf("   %v %s %s %d", d.Type, e.Key, d.Object.uid, d.Object.version)
		}
		w.mu.Lock()
		w.ledger.write(d.Type, d.Tombstone != nil, e.Key, item{d.Object.uid, d.Object.version})
		w.mu.Unlock()
		var err error
		if d.Type == deltafifo.Deleted {
			err = w.store.Delete(d.Object)
		} else {
			err = w.store.Update(d.Object)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// live changes objects at random until the end of ctx.
func (w *world) live(ctx context.Context, r *rand.Rand) {
	pause := []time.Duration{200 * time.Millisecond, 5 * time.Second, time.Minute}[r.IntN(3)]
	names := 1 + r.IntN(15)
	illness := []float64{0, 0.05, 0.3}[r.IntN(3)]
	for range 5 {
		w.change(r, fmt.Sprintf("o%02d", r.IntN(names)), 0)
	}
	for pass(ctx, time.Duration(r.ExpFloat64()*float64(pause))) == nil {
		for range 1 + r.IntN(4) {
			w.change(r, fmt.Sprintf("o%02d", r.IntN(names)), illness)
		}
		if r.IntN(20) == 0 {
			w.server.compact(r.Uint64N(10))
		}
	}
}

func (w *world) change(r *rand.Rand, name string, illness float64) {
	var heals time.Time
	if r.Float64() < illness {
		heals = never
		if r.IntN(3) > 0 {
			heals = time.Now().Add(time.Duration(r.Int64N(int64(5 * time.Minute))))
		}
	}
	switch r.IntN(10) {
	case 0, 1:
		w.server.remove(name)
	case 2:
		w.server.remove(name)
		w.server.put(name, heals)
	default:
		w.server.put(name, heals)
	}
}

// converged says how the copy differs from the server, or nothing.
func (w *world) converged() string {
	if w.queue.Len() > 0 {
		return fmt.Sprintf("%d entries wait in the queue", w.queue.Len())
	}
	var ill []string
	held := map[string]item{}
	for key, obj := range w.store.All() {
		held[key] = item{obj.uid, obj.version}
	}
	for _, obj := range w.server.now() {
		got, ok := held[obj.name]
		delete(held, obj.name)
		want := item{obj.uid, obj.version}
		switch {
		case obj.ill():
			ill = append(ill, obj.name)
		case !ok || got != want:
			return fmt.Sprintf("%s is %v, want %v", obj.name, got, want)
		}
	}
	for _, q := range w.Status().Quarantined {
		if !slices.Contains(ill, q.Meta.Key) {
			return q.Meta.Key + " is in quarantine, and is not ill"
		}
		ill = slices.DeleteFunc(ill, func(name string) bool { return name == q.Meta.Key })
	}
	if len(ill) > 0 {
		return fmt.Sprintf("%v are ill, and not in quarantine", ill)
	}
	if len(held) > 0 {
		return fmt.Sprintf("%v are held, and not there", held)
	}
	return ""
}

// settle waits until the copy is that of the server, which is quiet.
func (w *world) settle(most time.Duration) (took time.Duration) {
	began := time.Now()
	for {
		<-time.After(10 * time.Second)
		synctest.Wait()
		differs := w.converged()
		if differs == "" {
			return time.Since(began)
		}
		if time.Since(began) > most {
			w.t.Errorf("not converged after %s: %s; %+v", most, differs, w.Status())
			return time.Since(began)
		}
	}
}

// checkHistory fails the test for each thing that cannot have been.
func (w *world) checkHistory() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, broken := range w.ledger.broken {
		if i == 5 {
			w.t.Errorf("and %d more", len(w.ledger.broken)-i)
			break
		}
		w.t.Error(broken)
	}
	for key, obj := range w.store.All() {
		if w.ledger.held[key] != (item{obj.uid, obj.version}) {
			w.t.Errorf("the deltas make %v of %s, and the store has %v", w.ledger.held[key], key, obj)
		}
	}
	if len(w.ledger.held) != w.store.Len() {
		w.t.Errorf("the deltas make %d objects, and the store has %d", len(w.ledger.held), w.store.Len())
	}
}
