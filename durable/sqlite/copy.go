package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/types"
	driver "zombiezen.com/go/sqlite"

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
	conn   *driver.Conn // nil after a failure, until Load
	file   os.FileInfo  // what conn has open
	failed bool         // Load makes a new connection
	tx     *tx[T]       // the open transaction
	paused bool         // no commit since Load: nobody has watched for a while
	walAt  time.Time    // when the log may be emptied again
}

// New returns a Copy in db, and makes its tables or changes their columns. For that it waits for
// other writers of the file, as long as [Options].BusyTimeout says. encode returns the JSON of an
// object, which [Check] accepts; it is called for each object that is written.
func New[T any](db *DB, t durable.Table, encode func(T) ([]byte, error)) (*Copy[T], error) {
	checked, err := prepare(t)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %s: %w", db.path, err)
	}
	if encode == nil {
		return nil, fmt.Errorf("sqlite: %s: table %s: New needs a function that encodes an object", db.path, checked.Name)
	}
	c := &Copy[T]{db: db, table: checked, encode: encode, sql: statementsOf(checked.Name)}

	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return nil, errClosed
	}
	for _, other := range db.copies {
		if other.Name != checked.Name {
			continue
		}
		if other.Cluster == checked.Cluster {
			return nil, fmt.Errorf("sqlite: %s: table %s: there is a Copy of cluster %q in it already", db.path, checked.Name, checked.Cluster)
		}
		if !slices.Equal(other.Columns, checked.Columns) {
			return nil, fmt.Errorf("sqlite: %s: table %s: the Copy of cluster %q has other columns: use the same, or choose another Table.Name", db.path, checked.Name, other.Cluster)
		}
	}
	if err := c.open(context.Background()); err != nil {
		return nil, err
	}
	db.copies[c] = checked.Table
	return c, nil
}

var errClosed = errors.New("sqlite: closed")

// open makes the connection and the tables.
func (c *Copy[T]) open(ctx context.Context) error {
	conn, file, err := c.db.connect(ctx)
	if err != nil {
		return err
	}
	stop := interruptible(ctx, conn, c.db.opts.BusyTimeout)
	err = c.table.make(conn)
	stop()
	if err != nil {
		_ = conn.Close() // err says what went wrong
		return c.db.explain(ctx, "make table "+c.table.Name, err)
	}
	c.conn, c.file, c.failed = conn, file, false
	return nil
}

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
	return c.disconnect()
}

func (c *Copy[T]) disconnect() error {
	c.tx = nil
	if c.conn == nil {
		return nil
	}
	rollback(c.conn)
	err := c.conn.Close()
	c.conn = nil
	return err
}

// during runs f, which the end of ctx interrupts, and explains its error. c.mu is held.
func (c *Copy[T]) during(ctx context.Context, doing string, limit time.Duration, f func() error) error {
	if c.closed {
		return errClosed
	}
	doing += " " + c.table.Name
	if c.conn == nil || c.failed {
		return fmt.Errorf("sqlite: %s: %s: an earlier call has failed, and Load was not called", c.db.path, doing)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sqlite: %s: %s: %w", c.db.path, doing, context.Cause(ctx))
	}
	stop := interruptible(ctx, c.conn, limit)
	err := f()
	stop()
	switch {
	case err == nil || errors.Is(err, durable.ErrFenced):
		return err
	case !stopped(driver.ErrCode(err).ToPrimary()):
		c.failed = true
		rollback(c.conn) // until the next Load, which may be half a minute away, everything else that writes to the file would wait
	}
	return c.db.explain(ctx, doing, err)
}

const noLimit = -1

// Load implements [durable.Copy].
func (c *Copy[T]) Load(ctx context.Context) (durable.State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return durable.State{}, errClosed
	}
	if c.failed || c.moved() != nil {
		_ = c.disconnect() // it has failed
	}
	c.tx = nil
	if c.conn == nil {
		if err := c.open(ctx); err != nil {
			return durable.State{}, err
		}
	}
	rollback(c.conn)
	c.paused = true
	var state durable.State
	err := c.during(ctx, "load the state of", noLimit, func() (err error) {
		state, err = c.load()
		return err
	})
	return state, err
}

func (c *Copy[T]) load() (state durable.State, err error) {
	epoch, version, rest := int64(0), "", ""
	err = exec(c.conn, "SELECT epoch, version, state FROM relist_state WHERE table_name = ? AND cluster = ?", func(s *driver.Stmt) {
		epoch, version, rest = s.ColumnInt64(0), s.ColumnText(1), s.ColumnText(2)
	}, c.table.Name, c.table.Cluster)
	if err != nil || rest == "" {
		return durable.State{}, err
	}
	if err := json.Unmarshal([]byte(rest), &state); err != nil {
		return durable.State{}, fmt.Errorf("relist_state.state: %w", err)
	}
	state.Epoch, state.Point.Version = epoch, version // what Begin compares
	return state, nil
}

// moved returns an error if the path names another file than the one that is open. Nobody would see
// what is written to that.
func (c *Copy[T]) moved() error {
	if c.conn == nil {
		return nil
	}
	now, err := os.Stat(c.db.path)
	if err != nil {
		return fmt.Errorf("the file is gone, and whoever reads sees nothing that is written now: %w", err)
	}
	if !os.SameFile(c.file, now) {
		return errors.New("another file has its name now, so whoever reads sees nothing that is written to the one that was opened")
	}
	return nil
}

// Held implements [durable.Copy].
func (c *Copy[T]) Held(ctx context.Context, keys []string) ([]object.Meta, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, err := json.Marshal(keys, jsontext.AllowInvalidUTF8(true)) // no row has such a key; but a server can say anything
	if err != nil {
		return nil, fmt.Errorf("sqlite: keys of %s: %w", c.table.Name, err)
	}
	metas := make([]object.Meta, len(keys))
	err = c.during(ctx, "look up rows of", noLimit, func() error {
		return exec(c.conn, c.sql.held, func(s *driver.Stmt) {
			i := s.ColumnInt(0)
			metas[i] = object.Meta{Key: keys[i], UID: types.UID(s.ColumnText(1)), ResourceVersion: s.ColumnText(2)}
		}, string(list), c.table.Cluster)
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
	err := c.during(ctx, "list the keys of", noLimit, func() error {
		return exec(c.conn, c.sql.keys, func(s *driver.Stmt) {
			keys = append(keys, s.ColumnText(0))
		}, c.table.Cluster, after, max(limit, 0))
	})
	return keys, err
}

// Begin implements [durable.Copy].
func (c *Copy[T]) Begin(ctx context.Context, current durable.State, list bool) (durable.Tx[T], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tx != nil {
		return nil, fmt.Errorf("sqlite: %s: begin a transaction in %s: one is open", c.db.path, c.table.Name)
	}
	t := &tx[T]{c: c, current: current, list: list}
	err := c.during(ctx, "begin a transaction in", c.db.opts.BusyTimeout, func() error {
		if err := c.moved(); err != nil {
			return err
		}
		return exec(c.conn, "BEGIN IMMEDIATE", nil)
	})
	if err == nil {
		err = c.during(ctx, "begin a transaction in", noLimit, t.begin)
	}
	if err != nil {
		if c.conn != nil {
			rollback(c.conn)
		}
		return nil, err
	}
	c.tx = t
	return t, nil
}
