package check

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/postgres"
	"github.com/relist-go/relist/internal/must"
)

// opened returns what a Mirror makes of the state when it opens a copy.
func opened(state durable.State) durable.State {
	state.Epoch++
	return state
}

// TestPausedWriter has a program that stops in the middle of a transaction, and wakes up when
// another one has gone on.
func TestPausedWriter(t *testing.T) {
	r := newRig(t)
	c, state := r.new()
	state = transact(t, c, state, opened(state), false)
	tx, err := c.Begin(t.Context(), state, false)
	must.OK(t, err)
	must.OK(t, tx.Write(t.Context(), []durable.Change[[]byte]{put("a", 1, 1)}))

	other := r.copy(r.open(), pods)
	theirs := load(t, other)
	begun := make(chan error, 1)
	go func() {
		tx, err := other.Begin(t.Context(), theirs, false)
		if err == nil {
			err = tx.Commit(t.Context(), opened(theirs))
		}
		begun <- err
	}()
	eventually(t, "the second program waits for the first", func() bool {
		return query(t, r.admin, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%'||$1||'%'`, r.schema) == "1"
	})
	must.OK(t, tx.Commit(t.Context(), at(state, "1")))
	if err := <-begun; !errors.Is(err, durable.ErrFenced) {
		t.Errorf("the second program, which had loaded before the commit of the first: %v", err)
	}
}

// TestPausedForLong has a program that never wakes up: the server ends its session.
func TestPausedForLong(t *testing.T) {
	r := newRig(t)
	more := map[string][]string{"idle_in_transaction_session_timeout": {"50ms"}}
	var c *postgres.Copy[[]byte]
	var state durable.State
	var tx durable.Tx[[]byte]
	eventually(t, "a program that is not paused before", func() bool {
		db, err := postgres.Open(t.Context(), r.s.URL("postgres", more), r.opts)
		if err != nil {
			return false
		}
		c = r.copy(db, pods)
		if state, err = c.Load(t.Context()); err != nil {
			return false
		}
		if tx, err = c.Begin(t.Context(), state, false); err != nil || tx.Commit(t.Context(), opened(state)) != nil {
			return false
		}
		state = opened(state)
		tx, err = c.Begin(t.Context(), state, false)
		return err == nil
	})
	other := r.copy(r.open(), pods)
	theirs := load(t, other)
	transact(t, other, theirs, opened(theirs), false)
	if err := tx.Write(t.Context(), []durable.Change[[]byte]{put("a", 1, 1)}); err == nil {
		t.Error("a write of the program that was paused: no error")
	}
	if err := tx.Commit(t.Context(), at(state, "1")); err == nil {
		t.Error("a commit of the program that was paused: no error")
	}
	if got := load(t, c); got.Epoch != state.Epoch+1 {
		t.Errorf("after that, Load says epoch %d", got.Epoch)
	}
	r.want()
}

func TestLead(t *testing.T) {
	r := newRig(t)
	db, standby := r.open(), r.open()
	leads := make(chan int, 2)
	ended := make(chan error, 2)
	lead := func(ctx context.Context, db *postgres.DB, who int) {
		ended <- db.Lead(ctx, func(ctx context.Context) error {
			leads <- who
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}
	go lead(t.Context(), db, 1)
	if who := <-leads; who != 1 {
		t.Fatalf("%d leads", who)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go lead(ctx, standby, 2)
	locks := `SELECT l.pid FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted`
	if lines := query(t, r.admin, locks); lines == "" {
		t.Fatal("no lock")
	}
	select {
	case who := <-leads:
		t.Fatalf("%d leads, too", who)
	case err := <-ended:
		t.Fatal(err)
	case <-time.After(50 * time.Millisecond): // nothing can be waited for; too short a time can only hide a failure
	}
	exec1(t, r.admin, `SELECT pg_terminate_backend(pid) FROM (`+locks+`) l`)
	if err := <-ended; !errors.Is(err, postgres.ErrLeadLost) || strings.Count(err.Error(), postgres.ErrLeadLost.Error()) != 1 || !strings.Contains(err.Error(), "terminating connection") || strings.Contains(err.Error(), "\n") {
		t.Errorf("Lead of the first: %v", err)
	}
	if who := <-leads; who != 2 {
		t.Fatalf("%d leads", who)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Lead of the second: %v", err)
	}
	eventually(t, "the lock is given back", func() bool { return query(t, r.admin, locks) == "" })

	// A run that ends by itself gives the lock back, and its error is that of Lead.
	own := errors.New("own")
	if err := db.Lead(t.Context(), func(context.Context) error { return own }); !errors.Is(err, own) || errors.Is(err, postgres.ErrLeadLost) {
		t.Errorf("Lead = %v", err)
	}
	// One that waits ends with its context.
	go lead(t.Context(), db, 3)
	<-leads
	short, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	if err := standby.Lead(short, func(context.Context) error { t.Error("two lead"); return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lead whose context ends = %v", err)
	}
}
