package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"
)

// SetLogSize sets the size from which a log is large.
func (db *DB) SetLogSize(bytes int64) { db.logSize = bytes }

// Limit runs a statement on the connection of a Copy.
func Limit[T any](c *Copy[T], pragma string) {
	if err := exec(c.conn, pragma, nil); err != nil {
		panic(err)
	}
}

// Run runs a statement as a method of the Copy does, and cancels its context meanwhile.
func Run[T any](ctx context.Context, cancel func(), c *Copy[T], query string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.during(ctx, "run a statement on", noLimit, func() error {
		go cancel()
		return exec(c.conn, query, nil)
	})
}

// Plan returns how SQLite looks up the rows of keys, and lists keys.
func Plan[T any](c *Copy[T]) (held, keys []string) {
	plan := func(query string, args ...any) (steps []string) {
		err := exec(c.conn, "EXPLAIN QUERY PLAN "+query, func(s *driver.Stmt) { steps = append(steps, s.ColumnText(3)) }, args...)
		if err != nil {
			panic(err)
		}
		return steps
	}
	return plan(c.sql.held, `["a/b"]`, ""), plan(c.sql.keys, "", "", 1000)
}
