package sinks

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

var rounds = flag.Int("rounds", 8, "how often TestRounds starts programs together")

// TestRounds starts one to three programs with the same two tables at a time, and with other columns than before. One of them goes on.
// PostgreSQL is killed meanwhile, or the API server is restored from a backup. Transactions in REPEATABLE READ read the
// version, and some time later the rows, which are always what the server had at that version.
func TestRounds(t *testing.T) {
	total := &tally{}
	db := postgresSchema{ownPostgres(t), "rounds"}
	w := newWorld(t, newOurs(t), *seed+200, db.unstorable(), 300)
	r := &roundPlayer{killer: newKiller(w, db, true, total), db: db, total: total}
	stop := w.churn(10 * time.Millisecond)
	defer stop()
	stopReading := r.readAlways()
	defer stopReading()
	for i := range *rounds {
		if r.round(i); t.Failed() {
			t.Logf("this was round %d: %v", i, total.counts)
			return
		}
	}
	stopReading()
	t.Logf("%v", total.counts)
	for _, what := range []string{"readings with a version", "fenced", "killed PostgreSQL", "restored", "changed columns"} {
		if *rounds >= 8 && total.of(what) < *rounds/8 {
			t.Errorf("%s: %d times; the test has become harmless", what, total.of(what))
		}
	}
}

type roundPlayer struct {
	*killer
	db      postgresSchema
	total   *tally
	left    *program     // of the round before
	columns int          // of the round before
	pause   sync.RWMutex // a reader has it for reading
}

// tables are those of each program.
var tables = []string{"configmaps", "again"}

// columnsOf are what the programs of a round can add. The column value changes its path.
var columnsOf = []string{"", "value=.data.value", "value=.data.more,more=.data.more"}

func (r *roundPlayer) round(i int) {
	w := r.w
	if i%4 == 3 {
		w.save()
		for range 5 + w.roll(20) {
			w.change()
		}
		for _, table := range tables {
			r.catchUp(table) // what the backup lacks
		}
		if i%8 == 7 {
			r.left.kill()
			r.pause.Lock() // else a reader and DROP SCHEMA may wait for each other
			r.db.wipe(r.t)
			r.pause.Unlock()
			held, err := w.server.(*ours).s.Hold("watch")
			must(r.t, err)
			r.left = r.start("-two", "-columns", columnsOf[r.columns])
			select {
			case <-held:
			case <-time.After(patience):
				r.t.Fatal("no watch has come")
			}
			r.total.count("restored between list and watch")
		}
		w.restore(time.Duration(w.roll(1000)) * time.Millisecond)
		r.total.count("restored")
		r.bothLearned()
		r.db.change(r.t, "CHECKPOINT") // a version of the history before must not come again
		return
	}
	var started []*program
	columns := w.roll(len(columnsOf))
	if columns != r.columns {
		r.total.count("changed columns")
	}
	r.columns = columns
	if r.left != nil {
		started = append(started, r.left)
	}
	for range 1 + w.roll(3) {
		started = append(started, r.start("-two", "-columns", columnsOf[columns]))
		w.wait(50 * time.Millisecond)
	}
	if i%2 == 1 {
		w.wait(500 * time.Millisecond)
		must(r.t, r.db.server.crash())
		r.total.count("killed PostgreSQL")
	}
	r.left = r.oneOf(started)
	if r.left == nil {
		return
	}
	for _, table := range tables {
		r.catchUp(table)
	}
}

// bothLearned waits until both tables are of the history that the server has now.
func (r *roundPlayer) bothLearned() {
	for limit := time.Now().Add(patience); ; {
		a, err1 := r.readTable("configmaps", 0) // there may be no table yet
		b, err2 := r.readTable("again", 0)
		learned := a.state.Point.Version != "" && b.state.Point.Version != ""
		r.w.mu.Lock()
		for _, c := range []contents{a, b} {
			differs, current := r.w.compare(r.db, c, &tally{})
			learned = learned && differs == "" && current
		}
		if learned {
			r.w.restored = false
		}
		r.w.mu.Unlock()
		if learned {
			return
		}
		if time.Now().After(limit) {
			r.t.Fatalf("%v after a restored backup, the tables are at versions %s and %s of the history before: %v", patience, a.state.Point.Version, b.state.Point.Version, errors.Join(err1, err2))
		}
		<-time.After(50 * time.Millisecond)
	}
}

// oneOf waits until all programs but one have ended because they are fenced.
func (r *roundPlayer) oneOf(all []*program) (left *program) {
	for limit := time.Now().Add(patience); ; {
		running := 0
		for _, p := range all {
			select {
			case <-p.ended:
				if status := p.cmd.ProcessState.ExitCode(); status != 3 && !strings.Contains(p.stderr.String(), "copy: postgres: open schema") {
					r.t.Fatalf("a program has ended with status %d; want 3, or that PostgreSQL was away when it began:\n%s", status, p.stderr.String())
				}
			default:
				running, left = running+1, p
			}
		}
		switch {
		case running == 0:
			r.t.Fatalf("of %d programs, none goes on", len(all))
		case running == 1:
			r.total.add("fenced", len(all)-1)
			return left
		case time.Now().After(limit):
			r.t.Fatalf("of %d programs, %d go on after %v", len(all), running, patience)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// catchUp waits until a table has what the server has now.
func (r *roundPlayer) catchUp(table string) {
	want := r.w.server.version()
	for limit := time.Now().Add(patience); ; {
		c, err := r.readTable(table, 0) // there may be no table yet
		if v := c.state.Point.Version; v != "" && number(r.t, v) >= want {
			return
		}
		select {
		case <-r.left.ended:
			r.t.Fatalf("the last program has ended:\n%s", r.left.stderr.String())
		default:
		}
		if time.Now().After(limit) {
			r.t.Fatalf("%s is at version %s, and the server at %d, after %v: %v", table, c.state.Point.Version, want, patience, err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// readAlways reads both tables until stop is called.
func (r *roundPlayer) readAlways() (stop func()) {
	stopped := make(chan struct{})
	var wait sync.WaitGroup
	for _, table := range tables {
		wait.Go(func() {
			for {
				select {
				case <-stopped:
					return
				case <-time.After(time.Duration(r.w.roll(20)) * time.Millisecond):
				}
				r.pause.RLock()
				c, err := r.readTable(table, time.Duration(r.w.roll(200))*time.Millisecond)
				r.pause.RUnlock()
				if err != nil || !c.opened {
					r.total.count("readings that failed")
					continue
				}
				if c.state.Point.Version != "" {
					r.total.count("readings with a version")
				}
				if differs := r.differs(c); differs != "" {
					r.total.count("wrong readings")
					r.t.Errorf("%s: %s", table, differs)
					return
				}
			}
		})
	}
	return sync.OnceFunc(func() { close(stopped); wait.Wait() })
}

// differs compares what was read with what the server had at that version, in any of its histories. A program that has opened the copy
// again asks for the newest objects, so more keys are in doubt for a moment than it has refused.
func (r *roundPlayer) differs(c contents) (differs string) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	if c.state.Point.Version == "" {
		differs, _ = r.w.compare(r.db, c, &tally{})
		return differs
	}
	version, doubts := number(r.t, c.state.Point.Version), map[string]bool{}
	for _, key := range c.state.Point.Doubts {
		doubts[key] = true
	}
	for _, h := range slices.Backward(r.w.histories) {
		if version < h.base {
			continue
		}
		want, unsure := h.at(version)
		if differs = difference(r.db, c.rows, want, doubts, unsure); differs == "" {
			return ""
		}
	}
	return fmt.Sprintf("at version %d: %s", version, differs)
}

// readTable reads the version of a table and, after a pause, its rows, in one transaction.
func (r *roundPlayer) readTable(table string, pause time.Duration) (c contents, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.t.Context()), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, r.db.server.url())
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return c, err
	}
	var version, state string
	err = tx.QueryRow(ctx, "SELECT version, state::text FROM rounds.relist_state WHERE table_name = $1", table).Scan(&version, &state)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal([]byte(state), &c.state); err != nil {
		return c, err
	}
	c.opened, c.rows, c.state.Point.Version = true, map[string]object{}, version
	<-time.After(pause)
	rows, err := tx.Query(ctx, "SELECT key, uid, resource_version, object::text FROM rounds."+table)
	if err != nil {
		return c, err
	}
	var key, uid, text string
	_, err = pgx.ForEachRow(rows, []any{&key, &uid, &version, &text}, func() error {
		c.rows[key] = object{uid: uid, version: version, json: []byte(text)}
		return nil
	})
	return c, err
}

// crash kills the server with SIGKILL, and starts it again.
func (s *postgresServer) crash() error {
	if err := s.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill postgres: %w", err)
	}
	<-s.ended
	var err error
	for limit := time.Now().Add(patience); time.Now().Before(limit); { // its processes may still be there
		if err = s.start(); err == nil {
			return nil
		}
		<-time.After(50 * time.Millisecond)
	}
	return err
}
