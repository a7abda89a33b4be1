package sqlite

import (
	"context"
	"fmt"
	"time"

	driver "zombiezen.com/go/sqlite"
)

// OpenReader returns a connection that reads a file of copies, also while another program writes to it. A query, or a
// transaction of several, sees all copies as they were at one moment: always whole commits. A connection is for one goroutine at a
// time; the caller closes it.
//
// Any other program that knows SQLite reads the file as well.
func OpenReader(path string) (*driver.Conn, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: open for reading: %w", err)
	}
	db := &DB{path: path, opts: Options{BusyTimeout: 10 * time.Second}}
	ctx := context.Background()
	conn, err := driver.OpenConn(path, driver.OpenReadOnly)
	if err != nil {
		return nil, db.explain(ctx, "open for reading", err)
	}
	conn.SetBusyTimeout(db.opts.BusyTimeout)
	if err := db.checkFile(conn); err != nil {
		_ = conn.Close() // err says what went wrong
		return nil, db.explain(ctx, "open for reading", err)
	}
	return conn, nil
}
