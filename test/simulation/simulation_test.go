package simulation

import (
	"context"
	"flag"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

var (
	seeds = flag.Int("seeds", 50, "how many seeds each simulation runs")
	one   = flag.Uint64("seed", 0, "the one seed to run; 0 for all")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		*seeds, *trials = min(*seeds, 6), min(*trials, 3)
	}
	os.Exit(m.Run())
}

// each runs a simulation for every seed, each in a bubble of its own.
func each(t *testing.T, run func(t *testing.T, seed uint64)) {
	t.Helper()
	first, last := uint64(1), uint64(*seeds)
	if *one != 0 {
		first, last = *one, *one
	}
	for s := first; s <= last; s++ {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("to see this again: go test ./simulation -run '^%s$' -seed=%d", t.Name(), s)
				}
			}()
			run(t, s)
		})
	}
}

// tally is what a simulation has seen. One that has seen too little has shown nothing.
type tally struct {
	worlds, deltas, inferred, requests, events, relists, restarts, quarantined, refused, met int
	virtual, longest                                                                         time.Duration
	faults                                                                                   map[string]int
}

// Whatever servers and consumers do, the copy converges once they stop, and no
// history contains what cannot have been.
func TestConvergence(t *testing.T) {
	t.Parallel()
	total := tally{faults: map[string]int{}}
	each(t, func(t *testing.T, seed uint64) {
		began := time.Now()
		w := newWorld(t, seed)
		defer w.queue.Close()
		w.server.adverse = newChaos(seed)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		alive := make(chan struct{})
		go func() {
			defer close(alive)
			w.live(ctx, dice(seed, 6))
		}()
		w.consume()
		w.start()
		for range 2 + w.rand.IntN(4) {
			<-time.After(time.Duration(w.rand.Int64N(int64(20 * time.Minute))))
			if w.rand.IntN(2) == 0 {
				w.halt()
				w.restarts++
				<-time.After(time.Duration(w.rand.Int64N(int64(10 * time.Minute))))
				w.start()
			}
		}
		for w.server.met() < 5 { // a seed may have been lucky so far
			<-time.After(10 * time.Minute)
		}
		cancel()
		<-alive
		w.server.behave()
		w.sink.calm()
		took := w.settle(time.Hour)
		w.halt()
		w.queue.Close()
		w.consumer.Wait()
		w.checkHistory()
		total.add(w, time.Since(began), took)
	})
	total.check(t)
}

func (total *tally) add(w *world, virtual, took time.Duration) {
	total.worlds++
	total.virtual += virtual
	total.longest = max(total.longest, took)
	total.deltas += w.ledger.deltas
	total.inferred += w.ledger.inferred
	total.requests += len(w.server.requests)
	total.events += w.server.sent
	total.relists += w.relists
	total.restarts += w.restarts
	total.quarantined += w.quarantined
	total.refused += w.sink.no
	for name, n := range w.server.faults {
		total.faults[name] += n
		total.met += n
	}
	if changes := len(w.server.log); changes < 5 || len(w.server.requests) < 5 {
		w.t.Errorf("%d changes and %d requests show nothing", changes, len(w.server.requests))
	}
}

// check fails a simulation in which too little has happened.
func (total *tally) check(t *testing.T) {
	t.Helper()
	t.Logf("%d seeds, %s simulated: %d requests, %d faults, %d events, %d deltas, %d inferred deletions, %d relists, %d restarts, %d bad objects, %d refusals of the sink; converged within %s",
		total.worlds, total.virtual.Round(time.Hour), total.requests, total.met, total.events, total.deltas, total.inferred, total.relists, total.restarts, total.quarantined, total.refused, total.longest)
	if total.worlds < 50 {
		return // too few for what follows
	}
	for _, a := range answers {
		if total.faults[a.name] == 0 {
			t.Errorf("no list met the fault %q", a.name)
		}
	}
	for _, p := range plans {
		if total.faults[p.name] == 0 {
			t.Errorf("no watch met the fault %q", p.name)
		}
	}
	for _, least := range []struct {
		what      string
		got, want int
	}{
		{"requests", total.requests, 50},
		{"faults", total.met, 25},
		{"deltas", total.deltas, 200},
		{"inferred deletions", total.inferred, 5},
		{"relists", total.relists, 3},
		{"restarts", total.restarts, 1},
		{"bad objects", total.quarantined, 10},
		{"refusals of the sink", total.refused, 1},
	} {
		if least.got < least.want*total.worlds {
			t.Errorf("%d %s in %d seeds, want %d a seed: the simulation has become harmless", least.got, least.what, total.worlds, least.want)
		}
	}
}
