package sinks

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	driver "zombiezen.com/go/sqlite"

	"github.com/relist-go/relist/durable/sqlite"
)

var rounds = flag.Int("rounds", 8, "how often TestRounds starts programs together, for each database")

// TestRounds starts one to three programs with the same two tables at a time, and with other columns than before. One of them goes on.
// PostgreSQL is killed meanwhile, or a program that writes to SQLite, or the API server is restored from a backup. Transactions
// that see one moment read the version, and some time later the rows, which are always what the server had at that version.
func TestRounds(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			var db roundsDatabase = sqliteFile{filepath.Join(t.TempDir(), "copy.db")}
			if kind == "postgres" {
				db = postgresSchema{ownPostgres(t), "rounds"}
			}
			testRounds(t, db)
		})
	}
}

func testRounds(t *testing.T, db roundsDatabase) {
	total := &tally{}
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
	for _, what := range []string{"readings with a version", "fenced", "killed", "restored", "changed columns"} {
		if *rounds >= 8 && total.of(what) < *rounds/8 {
			t.Errorf("%s: %d times; the test has become harmless", what, total.of(what))
		}
	}
}

// roundsDatabase is a database that many programs use at once.
type roundsDatabase interface {
	database

	// readTable reads the version of a table and, after a pause, its rows, of one moment.
	readTable(ctx context.Context, table string, pause time.Duration) (contents, error)

	// crash kills what writes to the files, and returns the programs that may go on.
	crash(r *roundPlayer, started []*program) []*program

	// keep makes sure that no crash takes back what is committed.
	keep(t *testing.T)
}

type roundPlayer struct {
	*killer
	db      roundsDatabase
	total   *tally
	left    *program     // of the round before
	columns int          // of the round before
	pause   sync.RWMutex // a reader has it for reading
}

// start starts a program with both tables, and the columns of the round.
func (r *roundPlayer) start() *program {
	return r.killer.start("-share", "-two", "-columns", columnsOf[r.columns])
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
			r.pause.Lock() // else a reader and DROP SCHEMA may wait for each other, or a reader has files that are gone
			r.db.wipe(r.t)
			r.pause.Unlock()
			held, err := w.server.(*ours).s.Hold("watch")
			must(r.t, err)
			r.left = r.start()
			select {
			case <-held:
			case <-time.After(patience):
				r.t.Fatal("no watch has come")
			}
			lists := 0 // a backup that is restored between two pages of a list may not be noticed
			r.left.mustSay("both lists", func(l line) bool {
				if l.What == "commit" && l.List && l.Version != "" {
					lists++
				}
				return lists == len(tables)
			})
			r.total.count("restored between list and watch")
		}
		w.restore(time.Duration(w.roll(1000)) * time.Millisecond)
		r.total.count("restored")
		r.bothLearned()
		r.db.keep(r.t) // a version of the history before must not come again
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
		started = append(started, r.start())
		w.wait(50 * time.Millisecond)
	}
	if i%2 == 1 {
		w.wait(500 * time.Millisecond)
		started = r.db.crash(r, started)
		r.total.count("killed")
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
// again asks for the newest objects, so more keys are unsure for a moment than it has refused.
func (r *roundPlayer) differs(c contents) (differs string) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	if c.state.Point.Version == "" {
		differs, _ = r.w.compare(r.db, c, &tally{})
		return differs
	}
	version, doubts := number(r.t, c.state.Point.Version), map[string]bool{}
	for _, key := range c.state.Point.Unsure {
		doubts[key] = true
	}
	var all []string
	for i, h := range slices.Backward(r.w.histories) {
		if version < h.base {
			continue
		}
		want, unsure := h.at(version)
		if differs = difference(r.db, c.rows, want, doubts, unsure); differs == "" {
			return ""
		}
		all = append(all, fmt.Sprintf("in history %d from %d on, %s", i, h.base, differs))
	}
	return fmt.Sprintf("at version %d: %s", version, strings.Join(all, "; "))
}

func (r *roundPlayer) readTable(table string, pause time.Duration) (contents, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.t.Context()), patience)
	defer cancel()
	return r.db.readTable(ctx, table, pause)
}

func (p postgresSchema) readTable(ctx context.Context, table string, pause time.Duration) (c contents, err error) {
	conn, err := pgx.Connect(ctx, p.server.URL("postgres", nil))
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return c, err
	}
	var version, state string
	err = tx.QueryRow(ctx, "SELECT version, state::text FROM "+p.schema+".relist_state WHERE table_name = $1", table).Scan(&version, &state)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal([]byte(state), &c.state); err != nil {
		return c, err
	}
	c.opened, c.rows, c.state.Point.Version = true, map[string]object{}, version
	<-time.After(pause)
	rows, err := tx.Query(ctx, "SELECT key, uid, resource_version, object::text FROM "+p.schema+"."+table)
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

// crash kills PostgreSQL with SIGKILL, and starts it again. The programs go on.
func (p postgresSchema) crash(r *roundPlayer, started []*program) []*program {
	must(r.t, p.server.Kill())
	must(r.t, p.server.Start())
	return started
}

func (p postgresSchema) keep(t *testing.T) { p.change(t, "CHECKPOINT") }

func (f sqliteFile) readTable(_ context.Context, table string, pause time.Duration) (c contents, err error) {
	conn, err := sqlite.OpenReader(f.path) //nolint:contextcheck // it has no context
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := each(conn.Conn, "BEGIN", nil); err != nil {
		return c, err
	}
	version, state := "", ""
	err = each(conn.Conn, "SELECT version, state FROM relist_state WHERE state <> '' AND table_name = '"+table+"'", func(s *driver.Stmt) {
		version, state = s.ColumnText(0), s.ColumnText(1)
	})
	if err != nil || state == "" {
		return c, err
	}
	if err := json.Unmarshal([]byte(state), &c.state); err != nil {
		return c, err
	}
	c.opened, c.rows, c.state.Point.Version = true, map[string]object{}, version
	<-time.After(pause)
	return c, each(conn.Conn, "SELECT key, uid, resource_version, object FROM "+table, func(s *driver.Stmt) {
		c.rows[s.ColumnText(0)] = object{uid: s.ColumnText(1), version: s.ColumnText(2), json: []byte(s.ColumnText(3))}
	})
}

// crash kills one of the programs that run, with SIGKILL, and starts another.
func (sqliteFile) crash(r *roundPlayer, started []*program) []*program {
	running := slices.DeleteFunc(slices.Clone(started), (*program).hasEnded)
	victim := running[r.w.roll(len(running))]
	victim.kill()
	return append(slices.DeleteFunc(started, func(p *program) bool { return p == victim }), r.start())
}

func (sqliteFile) keep(*testing.T) {} // what a killed program has committed is in the files

func (p *program) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}
