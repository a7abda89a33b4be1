package durabletest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
)

// This file has the checks of the state, and of who may write.

func emptyPlace[T object.Object](r *rig[T]) {
	for _, c := range []*opened[T]{r.open(), r.open()} {
		c.wantState(durable.State{}, "at an empty place")
		c.wantRows(nil, "at an empty place")
		if got := c.held("default/a"); got[0] != (object.Meta{}) {
			r.Fatalf("at an empty place, Held returned %+v, want the zero Meta", got[0])
		}
	}
}

// states commits one state after the other, and wants each back, from this Copy, from another, and
// from a later one.
func states[T object.Object](r *rig[T]) {
	c := r.open()
	last := c.load()
	for _, next := range []durable.State{
		at(1, ""),
		at(1, "10"),
		at(2, "123456789012345678901234567890"), // a version is a decimal number of any length
		at(3, "b:7/x"),                          // or a text, of a server that does otherwise
		at(1<<40, "9"),                          // it may go back
		{
			Epoch: 1<<40 + 1,
			Point: reflector.Point{
				Version: "11",
				Unsure:  []string{"default/a", "system:node", `it's 100% "ü" \ 日本 😀`},
				Newest: []protocol.Newest{
					{Meta: object.Meta{Key: "default/a", UID: "u-1", ResourceVersion: "11"}},
					{Meta: object.Meta{Key: "default/ü", UID: "u-2", ResourceVersion: "9"}, Gone: true},
				},
			},
			Stream: durable.Stream{
				Cluster: "clusterü", Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop",
				LabelSelector: "a in (b,c),d!=e", FieldSelector: `metadata.name=it's`,
				ShardSelector: "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')", Shape: "jsonb 1\nmetadata.managedFields",
			},
			Unselected: true,
			Reshaped:   true,
		},
		{Epoch: 1<<40 + 1, Point: reflector.Point{Version: "12", Unsure: manyDoubts()}, Stream: stream()},
		at(1<<40+1, "13"), // the unsure keys are over
		at(1<<40+2, ""),
	} {
		last = c.commit(last, next)
		when := fmt.Sprintf("after Commit of a state with epoch %d and version %q", next.Epoch, next.Point.Version)
		c.wantState(next, when)
		other := r.open()
		other.wantState(next, when+", for a Copy that was opened later")
		other.kill()
	}
	c.kill()
	c = r.open()
	c.wantState(last, "after the process had ended")
	c.wantRows(nil, "after commits without changes")

	// The name of an unsure key need not be UTF-8, and no row has it then. It may be stored as
	// another text, but must not stop the others.
	odd := at(1<<40+3, "14")
	odd.Point.Unsure = []string{"default/\x00", "default/\xff"}
	odd.Point.Newest = []protocol.Newest{{Meta: object.Meta{Key: "default/\xff", UID: "\xff", ResourceVersion: "14"}}}
	c.commit(last, odd)
	if got := c.load(); got.Point.Version != "14" || len(got.Point.Unsure) != 2 {
		r.Fatalf("after Commit of a state with the unsure keys %q, Load returned\n%s", odd.Point.Unsure, asJSON(got))
	}
}

func manyDoubts() []string {
	unsure := make([]string, 1000)
	for i := range unsure {
		unsure[i] = fmt.Sprintf("namespace-%d/object-%d", i%7, i)
	}
	return unsure
}

// wantFenced wants that current is refused, and that the Copy can be used after that.
func (o *opened[T]) wantFenced(current, last durable.State) {
	o.Helper()
	tx, err := o.Begin(o.Context(), current, false)
	if !errors.Is(err, durable.ErrFenced) {
		o.Errorf("Begin at epoch %d and version %q while the last commit has epoch %d and version %q returned the error %v, want durable.ErrFenced",
			current.Epoch, current.Point.Version, last.Epoch, last.Point.Version, err)
		if err == nil {
			_ = tx.Rollback()
		}
		o.FailNow()
	}
	o.wantState(last, "after Begin has returned durable.ErrFenced")
}

func fencedByEpoch[T object.Object](r *rig[T]) {
	old := r.open()
	first := old.commit(old.load(), at(1, "10"), []durable.Change[T]{r.put("default/a", "5", "")})
	other := r.open()
	second := other.load()
	second.Epoch = 2
	other.commit(first, second)
	old.wantFenced(first, second)
	old.wantFenced(at(0, "10"), second)
	old.wantFenced(at(3, "10"), second)
	// The Mirror that was fenced stops. A later one may use the same Copy.
	rows := rowsAfter(r, nil, r.put("default/a", "5", ""), r.put("default/b", "11", ""))
	third := old.commit(second, at(3, "11"), []durable.Change[T]{r.put("default/b", "11", "")})
	other.wantFenced(second, third)
	other.wantRows(rows, "after a Begin that was fenced")
}

func fencedByVersion[T object.Object](r *rig[T]) {
	a, b := r.open(), r.open()
	first := a.commit(a.load(), at(1, "10"))
	b.load()
	second := b.commit(first, at(1, "11"))
	a.wantFenced(first, second)
	a.wantFenced(at(1, ""), second)
	a.wantFenced(at(1, "011"), second)
	a.wantFenced(at(1, "9"), second)
	third := a.commit(second, at(1, ""))
	b.wantFenced(second, third)
	b.commit(third, at(1, "12"))
}

func fencedAtEmptyPlace[T object.Object](r *rig[T]) {
	a, b := r.open(), r.open()
	a.load()
	b.load()
	a.wantFenced(at(1, ""), durable.State{})
	a.wantFenced(at(0, "10"), durable.State{})
	first := a.commit(durable.State{}, at(1, ""))
	b.wantFenced(durable.State{}, first)
}

func otherMembersDoNotFence[T object.Object](r *rig[T]) {
	c := r.open()
	last := c.commit(c.load(), durable.State{Epoch: 1, Point: reflector.Point{Version: "10", Unsure: []string{"default/a"}}, Stream: stream()})
	last.Point.Unsure, last.Stream.Shape, last.Unselected = nil, "other", true
	tx, err := c.Begin(c.Context(), last, true)
	if err != nil {
		r.Fatalf("Begin with the epoch and version of the last commit: %v; nothing else is compared", err)
	}
	r.rollback(tx)
}

// twoBeginAtOnce lets two Copies open an empty place, and then a place with rows, at the same time.
// One of them wins.
func twoBeginAtOnce[T object.Object](r *rig[T]) {
	const rounds = 20
	both := []*opened[T]{r.open(), r.open()}
	last := durable.State{}
	for round := range rounds {
		results := make(chan error, len(both))
		for _, c := range both {
			if got := c.load(); got.Epoch != last.Epoch {
				r.Fatalf("Load returned epoch %d, want %d", got.Epoch, last.Epoch)
			}
		}
		next := at(int64(round+1), "")
		for _, c := range both {
			go func() { results <- c.tryCommit(r.Context(), last, next) }()
		}
		won := 0
		for range both {
			if err := <-results; err == nil {
				won++
			}
		}
		switch {
		case won > 1:
			r.Fatalf("two Copies have committed a transaction that both began at epoch %d: one must get durable.ErrFenced", last.Epoch)
		case won == 0: // a database may refuse both for a moment
			if got := both[0].load(); got.Epoch == last.Epoch {
				both[0].commit(last, next)
			}
		}
		for _, c := range both {
			c.wantState(next, "after two Copies had begun at once")
			c.wantFenced(last, next)
		}
		last = next
	}
}

// tryCommit makes a transaction without changes.
func (o *opened[T]) tryCommit(ctx context.Context, current, next durable.State) error {
	tx, err := o.Begin(ctx, current, false)
	if err != nil {
		return err
	}
	return tx.Commit(ctx, next)
}

// transactionExcludes wants that the state does not change between Begin and Commit: the other Copy
// waits, or gets an error.
func transactionExcludes[T object.Object](r *rig[T]) {
	a, b := r.open(), r.open()
	state := a.commit(a.load(), at(1, "10"))
	b.load()
	for round, gives := range []time.Duration{100 * time.Millisecond, time.Minute} {
		const moment = 200 * time.Millisecond // b must not commit in this time; if b does not look at ctx, it may wait for longer
		tx := a.begin(state)
		ctx, cancel := context.WithTimeout(r.Context(), gives)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- b.tryCommit(ctx, state, at(2, "10")) }()
		select {
		case err := <-done:
			if err == nil {
				r.Fatal("while a transaction was open, another Copy has committed one: it must wait, or get an error")
			}
			done <- err
		case <-time.After(moment):
		}
		next := at(1, fmt.Sprint(11+round))
		a.write(tx, r.put("default/a", next.Point.Version, ""))
		r.end(tx, next)
		if err := <-done; err == nil {
			r.Fatal("Begin has waited for another Copy's transaction, and did not see that it has changed the state")
		}
		b.wantState(next, "after the other Copy's Commit")
		b.wantFenced(state, next)
		state = next
	}

	// If the first one rolls back, the other one may go on.
	tx := a.begin(state)
	r.rollback(tx)
	b.commit(state, at(2, "12"))
}

// contextEnds calls every method with a context that has ended. A call may succeed all the same,
// but must not do half of its work, and must leave the Copy so that Load can go on.
func contextEnds[T object.Object](r *rig[T]) {
	over, cancel := context.WithCancel(r.Context())
	cancel()
	c := r.open()
	rows := rowsAfter(r, nil, r.put("default/a", "5", ""))
	state := c.commit(c.load(), at(1, "10"), []durable.Change[T]{r.put("default/a", "5", "")})
	var tx durable.Tx[T]
	calls := []struct {
		name string
		call func() error
	}{
		{"Load", func() error { _, err := c.Load(over); return err }},
		{"Held", func() error { _, err := c.Held(over, []string{"default/a"}); return err }},
		{"Keys", func() error { _, err := c.Keys(over, "", 10); return err }},
		{"Begin", func() error { _, err := c.Begin(over, state, false); return err }},
		{"Write in a transaction", func() error { return tx.Write(over, []durable.Change[T]{r.put("default/b", "11", "")}) }},
		{"Held in a transaction", func() error { _, err := c.Held(over, []string{"default/a"}); return err }},
		{"Keys in a transaction", func() error { _, err := c.Keys(over, "", 10); return err }},
	}
	for _, call := range calls {
		if strings.HasSuffix(call.name, "in a transaction") {
			tx = c.begin(state)
		}
		err := call.call()
		c.wantState(state, fmt.Sprintf("after %s with a context that had ended, which returned %v", call.name, err))
		c.wantRows(rows, "after "+call.name+" with a context that had ended")
	}
	tx = c.begin(state)
	c.write(tx, r.put("default/b", "11", ""))
	err := tx.Commit(over, at(1, "11"))
	if got := c.load(); got.Point.Version == "11" {
		state, rows = at(1, "11"), rowsAfter(r, rows, r.put("default/b", "11", ""))
	} else if err == nil {
		r.Fatal("Commit with a context that had ended returned no error, and did not commit")
	}
	when := fmt.Sprintf("after Commit with a context that had ended, which returned %v", err)
	c.wantState(state, when)
	c.wantRows(rows, when)
	c.commit(state, at(1, "12"), []durable.Change[T]{r.put("default/c", "12", "")})
	c.wantRows(rowsAfter(r, rows, r.put("default/c", "12", "")), "after a Commit that followed errors")
}
