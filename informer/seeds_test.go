package informer_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/store"
)

var (
	seedCount = flag.Int("seeds", 300, "how many seeds TestSeeds plays; TestSimulationOfRestarts plays a tenth")
	oneSeed   = flag.Int("seed", -1, "the one seed that TestSeeds and TestSimulationOfRestarts play; negative for all")
)

// TestSeeds plays random lives to a MultiNamespace and to an Informer: handlers and observers come
// late, are slow, pick, are removed and canceled; namespaces come and go, also several times at
// once, and are refused; objects change while nobody watches. Whatever happens, no handler is told
// what cannot be true, two callbacks of one never run together, and none begins after its end. A
// namespace that was removed is gone from every handler. In the end every handler has what the
// store has, which is what the server has; and after a Stop in the middle of changes, what the
// store has.
//
//	go test -race ./informer -run TestSeeds -v -seeds=10000    # two minutes
//	go test -race ./informer -run TestSeeds -v -seed=42
func TestSeeds(t *testing.T) {
	first, last := 0, *seedCount
	if *oneSeed >= 0 {
		first, last = *oneSeed, *oneSeed+1
	}
	var total tally
	for seed := first; seed < last; seed++ {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed) // here, because synctest.Test does not return if f has failed
				}
			}()
			newLife(t, uint64(seed), &total).play()
		})
	}
	t.Logf("%d seeds: %v", last-first, total.counts)
	for what, least := range map[string]int{
		"add": 10, "update": 5, "delete": 5, "handlers": 3, "observers": 1, "removed namespaces": 1, "scrambles": 1,
	} {
		if got := total.counts[what]; *oneSeed < 0 && got < least*(last-first) {
			t.Errorf("%d %s in %d seeds, want %d a seed: the test has become harmless", got, what, last-first, least)
		}
	}
}

// tally counts what has happened in all seeds.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *tally) count(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	c.counts[what]++
}

// cache is what an Informer and a MultiNamespace have in common.
type cache interface {
	AddHandler(h informer.Handler[*thing]) (*informer.Registration, error)
	Observe(name string, observe func(informer.Change[*thing])) (*informer.Registration, error)
	Store() informer.Reader[*thing]
	WaitForSync(ctx context.Context) error
	Run(ctx context.Context) error
	Stop(ctx context.Context) error
}

// life is one seed.
type life struct {
	t     *testing.T
	dice  *rand.Rand
	tally *tally
	town  *town
	cache cache
	multi *informer.MultiNamespace[*thing] // nil if the cache is an Informer of the namespace n0
	folds []*fold
	run   chan error // what Run has returned
	halt  context.CancelFunc
}

func newLife(t *testing.T, seed uint64, total *tally) *life {
	l := &life{t: t, dice: rand.New(rand.NewPCG(seed, 4)), tally: total, town: newTown(), run: make(chan error, 1)}
	opts := informer.Options[*thing]{Logger: silent, Indexers: store.Indexers[*thing]{
		"value": func(obj *thing) []string { return []string{fmt.Sprint(obj.Value)} },
	}}
	opts.Reflector.Rand = func() float64 { return 0.5 }
	if seed%2 == 0 {
		l.cache = informer.New(l.town.in("n0"), opts)
	} else {
		l.multi = informer.NewMultiNamespace(l.town.open, opts)
		l.cache = l.multi
	}
	for range 5 {
		l.town.set(l.key(), l.dice.IntN(100))
	}
	return l
}

// namespace is one that something happens in. An Informer has one, so that as much happens to it as
// to a MultiNamespace.
func (l *life) namespace() string {
	if l.multi == nil {
		return "n0"
	}
	return fmt.Sprint("n", l.dice.IntN(4))
}

func (l *life) key() string { return l.namespace() + "/" + fmt.Sprint("o", l.dice.IntN(4)) }

// short is a time within which much can happen, or nothing.
func (l *life) short() time.Duration { return time.Duration(l.dice.IntN(5000)) * time.Millisecond }

func (l *life) play() {
	begin := l.dice.IntN(20)
	for step := range 50 {
		if step == begin {
			l.start()
		}
		l.step()
	}
	l.settle()
	l.end()
}

func (l *life) start() {
	ctx, cancel := context.WithCancel(l.t.Context())
	l.halt = cancel
	go func() { l.run <- l.cache.Run(ctx) }()
}

func (l *life) step() {
	switch l.dice.IntN(16) {
	case 0, 1:
		l.join()
	case 2:
		l.leave()
	case 3, 4:
		l.addNamespace(l.namespace())
	case 5:
		l.removeNamespace(l.namespace())
	case 6:
		l.scramble(l.namespace())
	case 7:
		l.town.in(l.namespace()).Gap(func() { l.changes(4) })
	case 8:
		var err error
		if l.dice.IntN(2) == 0 {
			err = errors.New("refused")
		}
		l.town.in(l.namespace()).Fail(err)
	case 9:
		<-time.After(l.short())
	case 10:
		synctest.Wait()
	default:
		l.changes(3)
	}
}

// changes makes up to n changes on the server.
func (l *life) changes(n int) {
	for range l.dice.IntN(n) + 1 {
		key := l.key()
		f := l.town.in(key[:2])
		_, exists := f.Get(key)
		switch what := l.dice.IntN(10); {
		case what < 3:
			f.Remove(key)
		case what == 3 && exists:
			f.swap(key, l.dice.IntN(100))
		case what == 4 && exists:
			f.Repeat(key)
		case what == 5 && exists:
			f.RemoveBadly(key)
		default:
			f.set(key, l.dice.IntN(100))
		}
	}
}

// join adds a handler or an observer.
func (l *life) join() {
	f := &fold{t: l.t, name: fmt.Sprint("handler ", len(l.folds)), store: l.cache.Store(), copy: map[string]*thing{}, tally: l.tally.count}
	f.single = l.multi == nil
	var err error
	f.mu.Lock() // a callback may be called before the registration is known
	if l.dice.IntN(4) == 0 {
		l.tally.count("observers")
		f.name = fmt.Sprint("observer ", len(l.folds))
		f.reg, err = l.cache.Observe(f.name, f.observe)
	} else {
		l.tally.count("handlers")
		f.fill(l.dice.IntN)
		f.isHandler = true
		f.reg, err = l.cache.AddHandler(f.handler(time.Duration(l.dice.IntN(3)) * 20 * time.Minute))
	}
	f.mu.Unlock()
	if err != nil {
		l.t.Error(err)
	}
	l.folds = append(l.folds, f)
}

// leave removes a handler in one of two ways.
func (l *life) leave() {
	if len(l.folds) == 0 {
		return
	}
	f := l.folds[l.dice.IntN(len(l.folds))]
	if l.dice.IntN(2) == 0 {
		if err := f.reg.Remove(l.t.Context()); err != nil && l.halt != nil {
			l.t.Error(err)
		}
		f.retire(true)
	} else {
		f.reg.RemoveAsync()
		synctest.Wait() // a callback may have begun
		f.retire(true)
	}
}

func (l *life) addNamespace(namespace string) {
	if l.multi == nil {
		return
	}
	l.tally.count("added namespaces")
	if err := l.multi.Add(namespace); err != nil {
		l.t.Error(err)
	}
}

func (l *life) removeNamespace(namespace string) {
	if l.multi == nil {
		return
	}
	l.tally.count("removed namespaces")
	ctx := l.t.Context()
	if l.dice.IntN(3) == 0 {
		short, cancel := context.WithTimeout(ctx, l.short())
		defer cancel()
		ctx = short
	}
	switch err := l.multi.Remove(ctx, namespace); {
	case errors.Is(err, context.DeadlineExceeded):
	case err != nil:
		l.t.Errorf("Remove returned %v", err)
	default:
		for _, f := range l.folds {
			f.hasNothingIn(namespace)
		}
		if got := l.cache.Store().In(namespace); len(got) > 0 {
			l.t.Errorf("the store has %q after the namespace was removed", describe(got))
		}
	}
}

// scramble adds and removes a namespace from several goroutines at once. Half of them wait until it
// has been removed.
func (l *life) scramble(namespace string) {
	if l.multi == nil {
		return
	}
	l.tally.count("scrambles")
	var all sync.WaitGroup
	for i := range 2 + l.dice.IntN(4) {
		ctx, cancel := context.WithTimeout(l.t.Context(), time.Duration(i%2)*time.Hour)
		defer cancel()
		all.Go(func() {
			if err := l.multi.Add(namespace); err != nil {
				l.t.Error(err)
			}
			if err := l.multi.Remove(ctx, namespace); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				l.t.Error(err)
			}
		})
	}
	all.Wait()
}

// settle lets everything come to rest: every handler has what the store has, and the store what the
// server has.
func (l *life) settle() {
	for i := range 4 {
		f := l.town.in(fmt.Sprint("n", i))
		f.Fail(nil)
		for j := range 4 {
			if key := fmt.Sprintf("n%d/o%d", i, j); l.dice.IntN(2) == 0 {
				f.set(key, 50+l.dice.IntN(2))
			} else {
				f.Remove(key)
			}
		}
	}
	<-time.After(time.Hour)
	synctest.Wait()
	now, cancel := context.WithTimeout(l.t.Context(), 0)
	defer cancel()
	if err := l.cache.WaitForSync(now); err != nil {
		l.t.Errorf("WaitForSync returned %v", err)
	}
	namespaces := []string{"n0"}
	if l.multi != nil {
		namespaces = l.multi.Namespaces()
	}
	objects := l.cache.Store().List()
	if got, want := fmt.Sprintf("%q", describe(objects)), fmt.Sprintf("%q", l.town.state(namespaces...)); got != want {
		l.t.Errorf("store holds\n\t%s\nserver\n\t%s", got, want)
	}
	for _, f := range l.folds {
		if f.retired() {
			continue
		}
		f.holds("at rest", objects)
		if !f.reg.HasSynced() || f.reg.Pending() != 0 || f.isHandler != (f.synced == 1) {
			l.t.Errorf("%v: synced: %v, pending: %d, calls of OnSynced: %d", f, f.reg.HasSynced(), f.reg.Pending(), f.synced)
		}
	}
}

// end ends the informer in the middle of changes: by its context, or by Stop, which may be given
// too little time.
func (l *life) end() {
	l.join()
	l.changes(10)
	if l.dice.IntN(2) == 0 {
		synctest.Wait()
		l.changes(10)
	}
	if l.dice.IntN(4) == 0 {
		l.halt()
		if err := <-l.run; !errors.Is(err, context.Canceled) {
			l.t.Errorf("Run returned %v", err)
		}
		return
	}
	defer l.halt()
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Duration(l.dice.IntN(2))*time.Hour)
	defer cancel()
	stopped := l.cache.Stop(ctx)
	if err := <-l.run; err != nil {
		l.t.Errorf("Run returned %v", err)
	}
	switch {
	case errors.Is(stopped, context.DeadlineExceeded):
		l.tally.count("cut drains")
	case stopped != nil:
		l.t.Errorf("Stop returned %v", stopped)
	default:
		l.tally.count("drains")
		for _, f := range l.folds {
			if !f.retired() {
				f.holds("after Stop", l.cache.Store().List())
			}
		}
	}
	for _, f := range l.folds {
		f.retire(false)
	}
	synctest.Wait()
}
