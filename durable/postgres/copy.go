package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/object"
)

// Copy keeps the rows of one resource of one cluster in a table. It is a [durable.Copy], and has a
// connection of its own.
type Copy[T any] struct {
	db     *DB
	table  table
	encode func(T) ([]byte, error)
	sql    statements

	mu     sync.Mutex // held during every call: a connection is for one goroutine at a time
	closed bool
	conn   *pgx.Conn
	tx     *tx[T]    // the open transaction
	paused bool      // no commit since Load: nobody has watched for a while
	pruned time.Time // when the history last had nothing more to remove
}

// New returns a Copy in db. It connects when Load is called, and then makes its tables or changes
// their columns. encode returns the JSON of an object, which [Check] accepts; it is called for each
// object that is written.
func New[T any](db *DB, t durable.Table, encode func(T) ([]byte, error)) (*Copy[T], error) {
	checked, err := prepare(t)
	if err != nil {
		return nil, db.wrap("open a copy in", err)
	}
	c := &Copy[T]{db: db, table: checked, encode: encode, sql: db.statements(checked.Name)}
	if encode == nil {
		return nil, c.wrap("open", errors.New("New needs a function that encodes an object"))
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return nil, c.wrap("open", errClosed)
	}
	for _, other := range db.copies {
		if other.Name == checked.Name && !slices.Equal(other.Columns, checked.Columns) {
			return nil, c.wrap("open", fmt.Errorf("the Copy of cluster %q in the same table has other columns: use the same, or choose another Table.Name", other.Cluster))
		}
	}
	db.copies[c] = checked.Table
	return c, nil
}

var errClosed = errors.New("it is closed")

// Close closes the connection. What is not committed is dropped. Close the DB instead to close all
// of its copies.
func (c *Copy[T]) Close() error {
	c.db.forget(c)
	return c.close()
}

func (c *Copy[T]) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.conn != nil {
		closeConn(context.Background(), c.conn)
	}
	c.conn, c.tx = nil, nil
	return nil
}

// wrap says what was being done, and to what.
func (c *Copy[T]) wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	name := c.db.opts.Schema + "." + c.table.Name
	if c.table.Cluster != "" {
		name += fmt.Sprintf(" of cluster %q", c.table.Cluster)
	}
	return wrap(fmt.Sprintf("postgres: %s %s", doing, name), err)
}

// during runs f, which ends when ctx or the time for a call does, and explains its error. c.mu is
// held.
func (c *Copy[T]) during(ctx context.Context, doing string, f func(context.Context) error) error {
	switch {
	case c.closed:
		return c.wrap(doing, errClosed)
	case c.conn == nil || c.conn.IsClosed():
		return c.wrap(doing, errNoLoad)
	}
	timed, cancel := c.db.timed(ctx)
	defer cancel()
	err := f(timed)
	if err != nil && timed.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(timed), err)
	}
	var from *pgconn.PgError
	if errors.As(err, &from) && (from.Code == "42P01" || from.Code == "3F000") { // undefined_table, invalid_schema_name: Load makes it again, as for every new connection
		closeConn(ctx, c.conn)
	}
	return c.wrap(doing, err)
}

var errNoLoad = errors.New("there is no connection, and Load was not called")

// Load implements [durable.Copy].
func (c *Copy[T]) Load(ctx context.Context) (durable.State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return durable.State{}, c.wrap("load the state of", errClosed)
	}
	old := c.conn
	state, err := c.load(ctx)
	if err != nil && old != nil && old == c.conn && old.IsClosed() && ctx.Err() == nil {
		state, err = c.load(ctx) // the connection had ended, and nobody had noticed
	}
	return state, err
}

func (c *Copy[T]) load(ctx context.Context) (state durable.State, err error) {
	c.tx, c.paused = nil, true
	if c.conn == nil || c.conn.IsClosed() {
		if err := c.connect(ctx); err != nil {
			return durable.State{}, c.wrap("open", err)
		}
	}
	err = c.during(ctx, "load the state of", func(ctx context.Context) error {
		if c.conn.PgConn().TxStatus() != 'I' {
			if _, err := c.conn.Exec(ctx, "rollback"); err != nil {
				return err
			}
		}
		var text []byte
		var epoch int64
		var version string
		err := c.conn.QueryRow(ctx, c.sql.load, c.table.Name, c.table.Cluster).Scan(&epoch, &version, &text)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &state); err != nil {
			return fmt.Errorf("relist_state.state: %w", err)
		}
		state.Epoch, state.Point.Version = epoch, version // what Begin compares
		return nil
	})
	return state, err
}

// connect makes the connection and the tables.
func (c *Copy[T]) connect(ctx context.Context) error {
	timed, cancel := c.db.timed(ctx)
	defer cancel()
	conn, err := c.db.connect(timed)
	if err != nil {
		return err
	}
	if err := c.db.make(ctx, conn, c.table); err != nil { // without a limit: the database may have to update every row
		closeConn(ctx, conn)
		return err
	}
	c.conn = conn
	return nil
}

// rollback ends the transaction, or the connection if that fails: then the server ends the
// transaction.
func (c *Copy[T]) rollback(ctx context.Context) {
	c.tx = nil
	if c.conn == nil || c.conn.IsClosed() {
		return
	}
	timed, cancel := c.db.timed(context.WithoutCancel(ctx))
	defer cancel()
	if _, err := c.conn.Exec(timed, "rollback"); err != nil {
		closeConn(ctx, c.conn)
	}
}

// Held implements [durable.Copy].
func (c *Copy[T]) Held(ctx context.Context, keys []string) ([]object.Meta, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	metas := make([]object.Meta, len(keys))
	asked, places := make([]string, 0, len(keys)), make([]int32, 0, len(keys))
	for i, key := range keys {
		if storable(key) {
			asked, places = append(asked, key), append(places, int32(i))
		}
	}
	err := c.during(ctx, "look up rows of", func(ctx context.Context) error {
		rows, err := c.conn.Query(ctx, c.sql.held, c.table.Cluster, asked, places)
		if err != nil {
			return err
		}
		var place int32
		var uid, version string
		_, err = pgx.ForEachRow(rows, []any{&place, &uid, &version}, func() error {
			metas[place] = object.Meta{Key: keys[place], UID: types.UID(uid), ResourceVersion: version}
			return nil
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return metas, nil
}

// Keys implements [durable.Copy].
func (c *Copy[T]) Keys(ctx context.Context, after string, limit int) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var keys []string
	err := c.during(ctx, "list the keys of", func(ctx context.Context) error {
		rows, err := c.conn.Query(ctx, c.sql.keys, c.table.Cluster, after, limit)
		if err != nil {
			return err
		}
		keys, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return keys, err
}

// storable reports whether a text of PostgreSQL can be s. No row has a key that is not storable;
// but a server can say anything.
func storable(s string) bool { return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) }
