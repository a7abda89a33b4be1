package sinks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	driver "zombiezen.com/go/sqlite"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/sqlite"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/internal/pgserver"
)

// database is where a program keeps its table.
type database interface {
	args() []string             // of the program
	read(*testing.T) contents   // of one moment
	wipe(*testing.T)            // so that the next program begins with nothing
	same(row, want object) bool // what the table has, and what the server had
	unstorable() (text string)  // is in an object that the database cannot store; empty if a ConfigMap cannot be one
}

// contents are what a database has.
type contents struct {
	opened bool // there is a state
	state  durable.State
	rows   map[string]object
	states []interval // of the history
	gaps   []gap
}

// object is what a row, and a state of the server, is compared by.
type object struct {
	uid, version string
	json         []byte
	inexact      bool // json has the same members as what the server sends, and not the same bytes
	refused      bool // by the program
}

// interval is a state of the history. Times are text that can be compared.
type interval struct {
	key, uid, version string
	from, to, end     string
	ended             string
}

type gap struct{ kind, fromVersion, toVersion, from, to string }

// sqliteFile is a file of SQLite.
type sqliteFile struct{ path string }

func (f sqliteFile) args() []string { return []string{"-database", f.path} }

func (f sqliteFile) unstorable() string { return "" }

func (f sqliteFile) same(row, want object) bool {
	if want.inexact {
		return bytes.Equal(canonical(row.json), canonical(want.json))
	}
	return bytes.Equal(row.json, want.json)
}

func (f sqliteFile) wipe(t *testing.T) {
	t.Helper()
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(f.path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

func each(conn *driver.Conn, sql string, row func(*driver.Stmt)) error {
	stmt, _, err := conn.PrepareTransient(sql)
	if err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	for {
		more, err := stmt.Step()
		if err != nil || !more {
			return errors.Join(err, stmt.Finalize())
		}
		if row != nil {
			row(stmt)
		}
	}
}

func (f sqliteFile) read(t *testing.T) (c contents) {
	t.Helper()
	if _, err := os.Stat(f.path); errors.Is(err, fs.ErrNotExist) {
		return c
	}
	conn, err := sqlite.OpenReader(f.path)
	must.OK(t, err)
	defer conn.Close()
	must.OK(t, each(conn.Conn, "BEGIN", nil))
	must.OK(t, each(conn.Conn, "PRAGMA integrity_check", func(s *driver.Stmt) {
		if found := s.ColumnText(0); found != "ok" {
			t.Errorf("%s is damaged: %s", f.path, found)
		}
	}))
	tables := map[string]bool{}
	must.OK(t, each(conn.Conn, "SELECT name FROM sqlite_schema", func(s *driver.Stmt) { tables[s.ColumnText(0)] = true }))
	if !tables["configmaps"] {
		return c
	}
	must.OK(t, each(conn.Conn, "SELECT epoch, version, state FROM relist_state WHERE state <> ''", func(s *driver.Stmt) {
		c.opened = true
		must.OK(t, json.Unmarshal([]byte(s.ColumnText(2)), &c.state))
		c.state.Epoch, c.state.Point.Version = s.ColumnInt64(0), s.ColumnText(1)
	}))
	c.rows = map[string]object{}
	must.OK(t, each(conn.Conn, "SELECT key, uid, resource_version, object FROM configmaps", func(s *driver.Stmt) {
		c.rows[s.ColumnText(0)] = object{uid: s.ColumnText(1), version: s.ColumnText(2), json: []byte(s.ColumnText(3))}
	}))
	if tables["configmaps_history"] {
		must.OK(t, each(conn.Conn, "SELECT key, uid, resource_version, from_time, to_time, to_version, ended FROM configmaps_history ORDER BY key, from_time, to_time IS NULL, to_time, rowid",
			func(s *driver.Stmt) {
				c.states = append(c.states, interval{
					s.ColumnText(0), s.ColumnText(1), s.ColumnText(2), s.ColumnText(3), s.ColumnText(4), s.ColumnText(5), s.ColumnText(6),
				})
			}))
	}
	must.OK(t, each(conn.Conn, "SELECT kind, from_version, to_version, from_time, to_time FROM relist_gaps", func(s *driver.Stmt) {
		c.gaps = append(c.gaps, gap{s.ColumnText(0), s.ColumnText(1), s.ColumnText(2), s.ColumnText(3), s.ColumnText(4)})
	}))
	return c
}

// shared is the server of all tests that do not break theirs.
var shared struct {
	once   sync.Once
	server *pgserver.Server
	err    error
}

func sharedPostgres(t *testing.T) *pgserver.Server {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = newPostgres() })
	must.OK(t, shared.err)
	return shared.server
}

// ownPostgres returns a server that a test may break.
func ownPostgres(t *testing.T) *pgserver.Server {
	t.Helper()
	server, err := newPostgres()
	must.OK(t, err)
	t.Cleanup(func() { must.OK(t, server.Remove()) })
	return server
}

// newPostgres returns a server whose log of changes is small, so that it comes to its end.
func newPostgres() (*pgserver.Server, error) {
	settings := []string{"max_connections=60", "shared_buffers=32MB", "max_wal_size=4MB", "min_wal_size=2MB"}
	return pgserver.New(settings, "--wal-segsize=1")
}

// postgresSchema is a schema in a server of PostgreSQL.
type postgresSchema struct {
	server *pgserver.Server
	schema string
}

func (p postgresSchema) args() []string {
	return []string{"-database", p.server.URL("postgres", nil) + "&application_name=" + p.schema, "-schema", p.schema}
}

func (p postgresSchema) unstorable() string { return "a\x00b" }

func (p postgresSchema) same(row, want object) bool {
	return bytes.Equal(canonical(row.json), canonical(want.json))
}

func (p postgresSchema) wipe(t *testing.T) { p.change(t, "DROP SCHEMA IF EXISTS "+p.schema+" CASCADE") }

func (p postgresSchema) connect(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.server.URL("postgres", nil))
	must.OK(t, err)
	return conn
}

func (p postgresSchema) change(t *testing.T, sql string) {
	t.Helper()
	conn := p.connect(t)
	defer conn.Close(context.WithoutCancel(t.Context()))
	_, err := conn.Exec(t.Context(), sql)
	must.OK(t, err)
}

func (p postgresSchema) read(t *testing.T) (c contents) {
	t.Helper()
	ctx := t.Context()
	conn := p.connect(t)
	defer conn.Close(context.WithoutCancel(ctx))
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	must.OK(t, err)
	tables := map[string]bool{}
	var name string
	rows, err := tx.Query(ctx, "SELECT tablename FROM pg_tables WHERE schemaname = $1", p.schema)
	must.OK(t, err)
	_, err = pgx.ForEachRow(rows, []any{&name}, func() error { tables[name] = true; return nil })
	must.OK(t, err)
	if !tables["configmaps"] {
		return c
	}
	var epoch int64
	var version, state string
	rows, err = tx.Query(ctx, "SELECT epoch, version, state::text FROM "+p.schema+".relist_state")
	must.OK(t, err)
	_, err = pgx.ForEachRow(rows, []any{&epoch, &version, &state}, func() error {
		c.opened = true
		err := json.Unmarshal([]byte(state), &c.state)
		c.state.Epoch, c.state.Point.Version = epoch, version
		return err
	})
	must.OK(t, err)
	c.rows = map[string]object{}
	var key, uid, text string
	rows, err = tx.Query(ctx, "SELECT key, uid, resource_version, object::text FROM "+p.schema+".configmaps")
	must.OK(t, err)
	_, err = pgx.ForEachRow(rows, []any{&key, &uid, &version, &text}, func() error {
		c.rows[key] = object{uid: uid, version: version, json: []byte(text)}
		return nil
	})
	must.OK(t, err)
	at := func(column string) string {
		return "coalesce(to_char(" + column + " AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), '')"
	}
	if tables["configmaps_history"] {
		var i interval
		rows, err = tx.Query(ctx, "SELECT key, uid, resource_version, "+at("from_time")+", "+at("to_time")+", coalesce(to_version, ''), coalesce(ended, '') FROM "+
			p.schema+".configmaps_history ORDER BY key, from_time, to_time NULLS LAST, ctid")
		must.OK(t, err)
		_, err = pgx.ForEachRow(rows, []any{&i.key, &i.uid, &i.version, &i.from, &i.to, &i.end, &i.ended}, func() error {
			c.states = append(c.states, i)
			return nil
		})
		must.OK(t, err)
	}
	var g gap
	rows, err = tx.Query(ctx, "SELECT kind, from_version, coalesce(to_version, ''), "+at("from_time")+", "+at("to_time")+" FROM "+p.schema+".relist_gaps")
	must.OK(t, err)
	_, err = pgx.ForEachRow(rows, []any{&g.kind, &g.fromVersion, &g.toVersion, &g.from, &g.to}, func() error {
		c.gaps = append(c.gaps, g)
		return nil
	})
	must.OK(t, err)
	return c
}

// canonical writes JSON so that the same members are the same bytes.
func canonical(text []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return out
}

// newDatabase returns one of a kind for a test.
func newDatabase(t *testing.T, kind string) database {
	t.Helper()
	if kind == "sqlite" {
		return sqliteFile{filepath.Join(t.TempDir(), "copy.db")}
	}
	p := postgresSchema{sharedPostgres(t), fmt.Sprintf("t%d", time.Now().UnixNano())}
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), p.server.URL("postgres", nil))
		if err == nil {
			_, err = conn.Exec(context.Background(), "DROP SCHEMA IF EXISTS "+p.schema+" CASCADE")
			_ = conn.Close(context.Background())
		}
		if err != nil {
			t.Error(err)
		}
	})
	return p
}

var kinds = []string{"sqlite", "postgres"}
