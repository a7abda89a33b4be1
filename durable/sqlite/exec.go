package sqlite

import (
	"context"
	"fmt"

	driver "zombiezen.com/go/sqlite"
)

// exec runs a statement, which the connection keeps for the next time, and calls row for each row
// of its result.
func exec(conn *driver.Conn, query string, row func(*driver.Stmt), args ...any) error {
	stmt, err := conn.Prepare(query)
	if err != nil {
		return err
	}
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			stmt.BindText(i+1, arg)
		case []byte:
			stmt.BindBytes(i+1, arg)
		case int64:
			stmt.BindInt64(i+1, arg)
		case int:
			stmt.BindInt64(i+1, int64(arg))
		case nil:
			stmt.BindNull(i + 1)
		default:
			panic(fmt.Sprintf("sqlite: a %T cannot be bound", arg)) // unreachable: no caller has another type
		}
	}
	for {
		more, err := stmt.Step()
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
		if row != nil {
			row(stmt)
		}
	}
}

// text makes a function for exec that keeps the first column of the last row.
func text(to *string) func(*driver.Stmt) {
	return func(s *driver.Stmt) { *to = s.ColumnText(0) }
}

// number is as text.
func number(to *int64) func(*driver.Stmt) {
	return func(s *driver.Stmt) { *to = s.ColumnInt64(0) }
}

// stopped reports whether a statement that ended with code may have been stopped by its context: a
// running one is interrupted, and one that waits for a lock gives up.
func stopped(code driver.ResultCode) bool {
	return code == driver.ResultInterrupt || code == driver.ResultBusy
}

// explain says what was being done, to which file, and what the user can do about it.
func (db *DB) explain(ctx context.Context, doing string, err error) error {
	hint := ""
	code := driver.ErrCode(err).ToPrimary()
	if ctx.Err() != nil && stopped(code) {
		return fmt.Errorf("sqlite: %s: %s: %w", db.path, doing, context.Cause(ctx))
	}
	switch code {
	case driver.ResultInterrupt, driver.ResultBusy, driver.ResultLocked:
		hint = fmt.Sprintf("another connection has been writing for %v", db.opts.BusyTimeout)
	case driver.ResultNotADB:
		hint = "it is no database of SQLite, or its first page is damaged: name another file, or move this one away"
	case driver.ResultCorrupt:
		hint = "the file is damaged: stop the program and move the file away; the next start makes a new one from the server, without the history of the old one"
	case driver.ResultFull:
		hint = "nothing was lost, and writing continues as soon as there is room"
	case driver.ResultReadOnly, driver.ResultPerm:
		hint = "the program must be allowed to write the file, and to make files in its folder"
	case driver.ResultCantOpen:
		hint = "the program must be allowed to make and read files in its folder"
	case driver.ResultIOErr:
		hint = "the disk or the file system has failed"
	default:
	}
	if hint == "" {
		return fmt.Errorf("sqlite: %s: %s: %w", db.path, doing, err)
	}
	return fmt.Errorf("sqlite: %s: %s: %w (%s)", db.path, doing, err, hint)
}
