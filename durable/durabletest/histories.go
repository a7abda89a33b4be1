package durabletest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
)

// This file has the checks that let a Mirror copy a server, while calls fail and processes end.

// process is a Mirror that runs.
type process[T object.Object] struct {
	mirror  *durable.Mirror[T]
	cancel  context.CancelFunc
	watched atomic.Bool   // a watch was opened
	wake    chan struct{} // there is news
	failed  chan struct{} // closed when a call has failed
	done    chan struct{} // closed when Run has returned err
	err     error
}

// start runs a Mirror.
func (s *server[T]) start(c durable.Copy[T], selector string) *process[T] {
	s.rig.Helper()
	p := &process[T]{wake: make(chan struct{}, 1), failed: make(chan struct{}), done: make(chan struct{})}
	of := stream()
	of.LabelSelector = selector
	news := func() {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
	failed := false
	mirror, err := durable.New(s.listWatcher(selector), c, durable.Options{
		Stream: of,
		Reflector: reflector.Options{
			PageSize: 3, BackoffBase: -1, Rand: func() float64 { return 0 },
			Trace: &reflector.Trace{WatchOpen: func() {
				p.watched.Store(true)
				news()
			}},
		},
		BatchRows:  2,
		BatchDelay: -1,
		Logger:     slog.New(slog.DiscardHandler),
		Trace: &durable.Trace{
			Commit: func(durable.Commit) { news() },
			Failed: func(durable.Failure) {
				if !failed {
					close(p.failed)
				}
				failed = true
			},
		},
	})
	if err != nil {
		s.rig.Fatalf("durable.New: %v", err)
	}
	p.mirror = mirror
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(s.rig.Context())
	go func() {
		defer close(p.done)
		p.err = mirror.Run(ctx)
	}()
	s.rig.Cleanup(func() { _ = p.stop() }) // if the test ends early, before the Copy is killed
	return p
}

// stop ends the Mirror, and returns what Run has returned.
func (p *process[T]) stop() error {
	p.cancel()
	<-p.done
	return p.err
}

// whole reports whether a point is the server's present, and nothing is unsure except what cannot be decoded.
func (s *server[T]) whole(p reflector.Point, selector string) bool {
	return p.Version == s.present() && slices.Equal(slices.Sorted(slices.Values(p.Unsure)), s.illKeys(selector))
}

// reaches reports whether a point is the server's present. Some objects may be unsure, because the reflector waits for a second or
// more before it asks for such an object.
func (s *server[T]) reaches(p reflector.Point, _ string) bool { return p.Version == s.present() }

// wait waits until what is committed is as wanted, and the Mirror has watched. It does not need a commit of this Mirror, because
// what an earlier one has committed may be as wanted. It returns false if a call has failed, or if Run has returned. If
// impatient, it also gives up after a second, because a reflector may need several seconds to find out whether a server is the one
// that it knows.
func (s *server[T]) wait(p *process[T], selector string, wanted func(reflector.Point, string) bool, impatient bool) bool {
	var giveUp <-chan time.Time
	if impatient {
		giveUp = time.After(time.Second)
	}
	for {
		if p.watched.Load() && wanted(p.mirror.Status().Committed.Point, selector) {
			return true
		}
		select {
		case <-p.failed:
			return false
		case <-p.done:
			return false
		case <-p.wake:
		case <-giveUp:
			return false
		}
	}
}

// check wants that what is committed obeys the rule of package durable. No Mirror may be running.
func (s *server[T]) check(c *opened[T], when string) {
	s.rig.Helper()
	state := c.load()
	if state.Point.Version == "" {
		return // a list is being written
	}
	rows, diff := s.rig.place.Rows(), "the server never had this version"
	for _, want := range s.states(state.Point.Version, state.Stream.LabelSelector) {
		if diff = diffRows(rows, want, state.Point.Unsure); diff == "" {
			return
		}
	}
	s.rig.Fatalf("%s: the state says that the rows are those of the server at version %s, except those of %q; but %s",
		when, state.Point.Version, state.Point.Unsure, diff)
}

// recover runs a Mirror until the copy is whole again.
func (s *server[T]) recover(c *opened[T], selector, when string) {
	s.rig.Helper()
	p := s.start(c.Copy, selector)
	caughtUp := s.wait(p, selector, s.whole, false)
	if err := p.stop(); !caughtUp {
		s.rig.Fatalf("%s: a Mirror that was started after that could not go on: %v, %v", when, p.mirror.Status().Err, err)
	}
	s.check(c, when+", and a Mirror has gone on")
	if got := c.load().Point.Version; got != s.present() {
		s.rig.Fatalf("%s, and a Mirror has gone on to version %s: Load returned version %q", when, s.present(), got)
	}
}

// story is what happens to the server while a Mirror runs, and which selector the Mirror has then.
var story = []struct {
	selector string
	happens  func(s happening)
}{
	{"", func(happening) {}},
	{"", func(s happening) { s.put("default/a", true, false); s.pass() }},
	{"", func(s happening) { s.remove("default/b"); s.put("default/c", false, true) }},
	{"", func(s happening) { // while the watch is gone
		s.forget()
		s.remove("default/a")
		s.put("default/a", true, false)
		s.remove("default/d")
		s.put("default/e", true, true)
		s.put("default/f", false, false)
		s.put("default/g", false, false)
		s.forget()
	}},
	{"", func(s happening) { s.put("default/e", true, false); s.put("default/c", true, false) }},
	{selected, func(s happening) { s.put("default/g", true, false) }},
	{selected, func(s happening) { s.put("default/g", false, false); s.put("default/f", true, false) }},
	{"", func(happening) {}},
}

// happening is what can happen to a server.
type happening interface {
	put(key string, isSelected, ill bool)
	remove(key string)
	pass()
	cut()
	forget()
}

func killedAnywhere[T object.Object](r *rig[T]) { r.everyFault(true) }

// failsAnywhere continues with the same Copy after a failure. killedAnywhere opens another Copy instead.
func failsAnywhere[T object.Object](r *rig[T]) { r.everyFault(false) }

// everyFault plays the story once for each call of the Copy that can fail, and for each way in which it can.
func (r *rig[T]) everyFault(kill bool) {
	for call, more := 1, true; more; call++ {
		for _, after := range []bool{false, true} {
			r.trial(func(r *rig[T]) { more = r.play(fault{call: call, after: after, kill: kill}) })
		}
		if testing.Short() {
			call += call / 4
		}
	}
}

// trial calls do with a rig of its own, whose place is empty.
func (r *rig[T]) trial(do func(*rig[T])) {
	r.Helper()
	t, isT := r.TB.(*testing.T)
	if !isT {
		do(newRig(r.TB, r.newPlace))
		return
	}
	if !t.Run("", func(t *testing.T) { do(newRig(t, r.newPlace)) }) {
		r.FailNow()
	}
}

// play plays the story up to the fault, and then wants the copy to become whole. It returns false if the story ends before the fault.
func (r *rig[T]) play(f fault) bool {
	r.Helper()
	s := newServer(r)
	for i, key := range []string{"default/a", "default/b", "default/c", "default/d", "default/e"} {
		s.put(key, i%2 == 0, i == 3)
	}
	c := r.open()
	bad := &faulty[T]{Copy: c.Copy, fault: f}
	var p *process[T]
	for i, step := range story {
		if p != nil && step.selector != story[i-1].selector {
			_ = p.stop()
			p = nil
		}
		step.happens(s)
		if p == nil {
			p = s.start(bad, step.selector)
		}
		whole := s.wait(p, step.selector, s.whole, false)
		if whole && i < len(story)-1 {
			continue
		}
		err := p.stop()
		when := fmt.Sprintf("in step %d, %s, which was %s", i, f, bad.meets())
		if f.kill {
			c.kill()
			c = r.open()
		}
		if bad.misuse != "" {
			r.Fatalf("%s: the Mirror has called %s: this is a defect of package durable", when, bad.misuse)
		}
		if !whole && bad.meets() == "" {
			r.Fatalf("in step %d: a call of the Copy has failed: %v, %v", i, p.mirror.Status().Err, err)
		}
		s.check(c, when)
		s.recover(c, step.selector, when)
		break
	}
	return bad.meets() != ""
}

// randomHistories lets Mirrors, one after the other, copy a server. At random, the server changes or goes back, and a call fails.
func randomHistories[T object.Object](r *rig[T]) {
	seeds := uint64(8)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		r.trial(func(r *rig[T]) { r.history(rand.New(rand.NewPCG(seed, 14))) })
	}
}

func (r *rig[T]) history(dice *rand.Rand) {
	const lives = 25
	r.Helper()
	s := newServer(r)
	selector := ""
	c := r.open()
	for life := range lives {
		if dice.IntN(4) == 0 {
			selector = []string{"", selected}[dice.IntN(2)]
		}
		f := fault{call: dice.IntN(60), after: dice.IntN(2) == 0, kill: dice.IntN(2) == 0}
		bad := &faulty[T]{Copy: c.Copy, fault: f}
		begin := c.load().Point.Version
		p := s.start(bad, selector)
		for whole := true; whole && dice.IntN(8) > 0; {
			for range 1 + dice.IntN(4) {
				happen(s, dice)
			}
			if dice.IntN(3) > 0 {
				whole = s.wait(p, selector, s.reaches, true)
				if whole && p.mirror.Status().Committed.Point.Version != begin {
					s.noticed() // a Mirror commits another version when it knows that the server is the same, or has listed
				}
			}
		}
		if err := p.stop(); !errors.Is(err, context.Canceled) {
			r.Fatalf("in life %d: Run of the only Mirror returned %v", life, err)
		}
		if err := p.mirror.Status().Err; err != nil && !errors.Is(err, errFault) {
			r.Fatalf("in life %d: a call of the Copy has failed: %v", life, err)
		}
		when := fmt.Sprintf("in life %d, with a fault: %s (it was %q)", life, f, bad.meets())
		if f.kill {
			c.kill()
			c = r.open()
		}
		s.check(c, when)
		for range dice.IntN(6) {
			happen(s, dice)
		}
		if dice.IntN(5) == 0 {
			s.restore(1+dice.IntN(5), c.load().Point)
			for range dice.IntN(8) {
				happen(s, dice)
			}
		}
	}
	s.noticed() // it will be, because the Mirror lists
	for _, key := range s.illKeys("") {
		s.put(key, true, false)
	}
	s.forget() // so that the Mirror lists
	s.recover(c, selector, "after all lives")
}

// happen changes a server somehow.
func happen(s happening, dice *rand.Rand) {
	key := fmt.Sprintf("default/%c", 'a'+dice.IntN(9))
	switch n := dice.IntN(100); {
	case n < 45:
		s.put(key, dice.IntN(2) == 0, dice.IntN(8) == 0)
	case n < 70:
		s.remove(key)
	case n < 80:
		s.pass()
	case n < 87:
		s.remove(key)
		s.put(key, dice.IntN(2) == 0, false)
	case n < 88:
		s.cut()
	default:
		s.forget()
	}
}

// twoMirrors opens the copy again and again while an older Mirror writes to it.
func twoMirrors[T object.Object](r *rig[T]) {
	const rounds = 8
	s := newServer(r)
	for i := range 6 {
		s.put(fmt.Sprintf("default/%c", 'a'+i), true, false)
	}
	c := r.open()
	older := s.start(c.Copy, "")
	if !s.wait(older, "", s.whole, false) {
		r.Fatalf("a call of the Copy has failed: %v", older.mirror.Status().Err)
	}
	for round := range rounds {
		next := r.open()
		if round%2 == 0 {
			next.load() // so that it is ready
		}
		newer := s.start(next.Copy, "")
		for i := range 10 {
			s.put(fmt.Sprintf("default/%c", 'a'+i%7), true, false)
			s.remove(fmt.Sprintf("default/%c", 'a'+(i+round)%7))
		}
		if !s.wait(newer, "", s.whole, false) {
			r.Fatalf("round %d: the Mirror that opened the copy later could not go on: %v, %v", round, newer.mirror.Status().Err, newer.stop())
		}
		s.put("default/z", true, false) // if the older Mirror has not learned yet that it is no longer the writer, it learns it now
		if s.wait(older, "", s.reaches, false) {
			r.Fatalf("round %d: the Mirror that opened the copy earlier still commits, at epoch %d", round, older.mirror.Status().Committed.Epoch)
		}
		if err := older.stop(); !errors.Is(err, durable.ErrFenced) {
			r.Fatalf("round %d: Run of the Mirror that opened the copy earlier returned %v (its Copy: %v), want durable.ErrFenced",
				round, err, older.mirror.Status().Err)
		}
		if !s.wait(newer, "", s.whole, false) {
			r.Fatalf("round %d: the Mirror that opened the copy later could not go on: %v", round, newer.mirror.Status().Err)
		}
		c.kill()
		c, older = next, newer
	}
	if err := older.stop(); !errors.Is(err, context.Canceled) {
		r.Fatalf("Run of the last Mirror returned %v", err)
	}
	s.check(c, "after all")
	if got := c.load(); got.Epoch != rounds+1 || got.Point.Version != s.present() {
		r.Fatalf("after %d openings the copy is at epoch %d and version %s, want version %s", rounds+1, got.Epoch, got.Point.Version, s.present())
	}
}
