package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	driver "zombiezen.com/go/sqlite"

	"github.com/relist-go/relist/durable"
)

// Options configure a [DB]. The zero value is ready for use.
type Options struct {
	// BusyTimeout is how long a transaction waits for another writer of the file before it fails.
	// The end of the context ends the wait, too. If zero, 30 seconds are used. If negative, only
	// the context ends the wait.
	BusyTimeout time.Duration

	// Shared: other processes that set it may open the file for writing at the same time. The
	// copies of two processes must differ then. If they do not, one of the two is told
	// [durable.ErrFenced].
	Shared bool
}

// DB is a file of SQLite with copies in it. Its methods may be called from several goroutines.
type DB struct {
	path    string
	opts    Options
	logSize int64        // see checkpoint
	lock    *driver.Conn // nil if it was given back

	mu     sync.Mutex
	closed bool
	copies map[closer]durable.Table
}

// closer is what a DB knows of its copies.
type closer interface{ close() error }

// Open opens the file, and makes it if there is none. It returns an error if another process has
// opened the file ([ErrLocked]), if the file belongs to another program, or if a newer version of
// this package has made it. A file of an older version is migrated. Only the owner of a new file
// can read it, because copies may have secrets; a file that is there keeps its permissions. If a
// killed program has left a write-ahead log, Open reads the whole file, and returns an error if the
// two do not fit together.
//
// While the DB is open, a file beside it, with ".lock" after its name, is locked. With
// Options.Shared, other processes that set it can lock it, too. That file stays, and is empty.
func Open(path string, opts Options) (*DB, error) {
	if path == "" || path == ":memory:" {
		return nil, fmt.Errorf("sqlite: open %q: want the path of a file, because each copy has a connection of its own", path)
	}
	path, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: open: %w", err)
	}
	opts.BusyTimeout = cmp.Or(opts.BusyTimeout, 30*time.Second)
	db := &DB{path: path, opts: opts, logSize: maxLogSize, copies: map[closer]durable.Table{}}
	if db.lock, err = lock(path, opts.Shared); err != nil {
		return nil, err
	}
	err = db.checkLog()
	if err == nil {
		var conn *driver.Conn
		if conn, _, err = db.connect(context.Background()); err == nil {
			err = conn.Close()
		}
	}
	if err != nil {
		db.unlock()
		return nil, err
	}
	return db, nil
}

// Close closes every Copy of the DB, and then unlocks the file.
func (db *DB) Close() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return nil
	}
	db.closed = true
	var errs []error
	for c := range db.copies {
		errs = append(errs, c.close())
	}
	db.copies = nil
	db.unlock()
	return errors.Join(errs...)
}

// forget is what a Copy calls when it was closed alone.
func (db *DB) forget(c closer) {
	db.mu.Lock()
	defer db.mu.Unlock()
	delete(db.copies, c)
}

// connect returns a new connection to the file, which has the schema of this package, and what
// identifies the file.
func (db *DB) connect(ctx context.Context) (_ *driver.Conn, _ os.FileInfo, err error) {
	if err := makePrivate(db.path); err != nil {
		return nil, nil, fmt.Errorf("sqlite: open: %w", err)
	}
	conn, err := driver.OpenConn(db.path, driver.OpenReadWrite|driver.OpenCreate)
	if err != nil {
		return nil, nil, db.explain(ctx, "open", err)
	}
	defer func() {
		if err != nil {
			_ = conn.Close() // err says what went wrong
		}
	}()
	defer interruptible(ctx, conn, db.opts.BusyTimeout)()

	if err := checkFile(conn); err != nil {
		return nil, nil, db.explain(ctx, "open", err)
	}
	mode := ""
	if err := exec(conn, "PRAGMA journal_mode = wal", text(&mode)); err != nil {
		return nil, nil, db.explain(ctx, "open: set journal_mode", err)
	}
	if mode != "wal" {
		return nil, nil, fmt.Errorf("sqlite: open %s: its journal_mode stays %q: the file system must have shared memory, as local ones do", db.path, mode)
	}
	for _, pragma := range []string{
		"PRAGMA synchronous = NORMAL",       // the last commits may be lost if the machine fails: rows and state together
		"PRAGMA wal_autocheckpoint = 4000",  // pages, 16 MB: a list makes a checkpoint every few batches
		"PRAGMA cache_size = -4000",         // KB: what a large transaction changes beyond that is in the log before its commit
		"PRAGMA foreign_keys = OFF",         // there are none
		"PRAGMA recursive_triggers = FALSE", // nobody shall be surprised by triggers of their own
	} {
		if err := exec(conn, pragma, nil); err != nil {
			return nil, nil, db.explain(ctx, "open: "+pragma, err)
		}
	}
	if err := db.migrate(conn); err != nil {
		return nil, nil, db.explain(ctx, "make the tables of relist", err)
	}
	// SQLite opens a file that must not be written without an error, so this tries to write
	// nothing. If another connection writes just now, the file can be written.
	conn.SetBusyTimeout(0)
	err = exec(conn, "UPDATE relist_state SET epoch = epoch WHERE FALSE", nil)
	conn.SetBlockOnBusy()
	if err != nil && driver.ErrCode(err).ToPrimary() != driver.ResultBusy {
		return nil, nil, db.explain(ctx, "open", err)
	}
	info, err := os.Stat(db.path)
	if err != nil {
		return nil, nil, fmt.Errorf("sqlite: open: %w", err)
	}
	return conn, info, nil
}

// makePrivate makes an empty file that only its owner can read, if there is no file. SQLite gives
// the files beside it the same rights.
func makePrivate(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // it keeps the rights that it has
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// interruptible lets the end of ctx interrupt what conn does, and the end of limit, too, if that is
// not negative. The caller calls stop when conn is done.
func interruptible(ctx context.Context, conn *driver.Conn, limit time.Duration) (stop func()) {
	cancel := func() {}
	if limit >= 0 {
		ctx, cancel = context.WithTimeout(ctx, limit)
	}
	conn.SetInterrupt(ctx.Done())
	return func() {
		conn.SetInterrupt(nil)
		cancel()
	}
}
