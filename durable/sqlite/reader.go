package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	driver "zombiezen.com/go/sqlite"
)

// Reader is a connection that reads a file of copies. It is for one goroutine at a time.
type Reader struct {
	*driver.Conn

	path   string
	opened os.FileInfo // of a file that is read as if it could not change; nil otherwise
}

// OpenReader opens a file of copies for reading, also while another program writes to it. A query,
// or a transaction of several, sees all copies as they were at one moment: always whole commits.
//
// To read a file that no program has open, SQLite makes two files beside it. If it cannot make
// them, the Reader reads the file as if it could not change, and does not see what a program writes
// from then on: see [Reader.Close].
//
// Any other program that knows SQLite reads the file as well.
func OpenReader(path string) (*Reader, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: open for reading: %w", err)
	}
	opened, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: open for reading: %w", err)
	}
	r, err := openReader(path)
	switch driver.ErrCode(err).ToPrimary() {
	case driver.ResultCantOpen, driver.ResultReadOnly:
		if !hasLog(path) { // everything is in the file: https://www.sqlite.org/wal.html#read_only_databases
			if r, failed := openReader(asImmutable(path)); failed == nil {
				r.path, r.opened = path, opened
				return r, nil
			}
		}
		return nil, fmt.Errorf("sqlite: %s: open for reading: %w (the program must be allowed to read the file, and those beside it with -wal and -shm after its name)", path, err)
	case driver.ResultOK:
		return r, nil
	default:
	}
	db := &DB{path: path, opts: Options{BusyTimeout: readersWait}}
	return nil, db.explain(context.Background(), "open for reading", err)
}

// readersWait is how long a reader waits for a lock: somebody who has to recover the log of a
// killed program keeps it for a moment.
const readersWait = 10 * time.Second

func openReader(name string) (*Reader, error) {
	conn, err := driver.OpenConn(name, driver.OpenReadOnly|driver.OpenURI)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(readersWait)
	if err := checkFile(conn); err != nil {
		_ = conn.Close() // err says what went wrong
		return nil, err
	}
	return &Reader{Conn: conn}, nil
}

// asImmutable returns the URI of a file that SQLite reads without locks and without other files.
func asImmutable(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // C:/copies
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: "immutable=1"}).String()
}

// hasLog reports whether the newest commits of a file may be in its log.
func hasLog(path string) bool {
	log, err := os.Stat(path + "-wal")
	return err == nil && log.Size() > 0 || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// Check reads the whole file, and returns an error if it is damaged. It does not compare the rows
// with a server.
func (r *Reader) Check(ctx context.Context) error {
	defer interruptible(ctx, r.Conn, noLimit)()
	found := ""
	err := exec(r.Conn, "PRAGMA integrity_check(1)", text(&found))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case found != "ok":
		return fmt.Errorf("%w: %s", driver.ResultCorrupt.ToError(), found[strings.LastIndexByte(found, '\n')+1:]) // the first line may only name the database
	}
	return nil
}

// checkLog returns an error if a program was killed, and the log that it has left is not that of
// the file. SQLite does not notice that, and moves the log into the file. checkLog only reads.
func (db *DB) checkLog() error {
	if !hasLog(db.path) {
		return nil
	}
	r, err := openReader(db.path)
	if err == nil {
		err = cmp.Or(r.Check(context.Background()), r.Close())
	}
	switch driver.ErrCode(err).ToPrimary() {
	default:
		return nil // another error comes again when the file is opened for writing
	case driver.ResultCorrupt, driver.ResultNotADB:
		name := filepath.Base(db.path)
		return fmt.Errorf("sqlite: open %s: %w (if the file is a backup that was put here, delete %s-wal and %s-shm, which belong to the file that was here before; otherwise move all three away: the next start makes a new file from the server, without the history of the old one)", db.path, err, name, name)
	}
}

var errChanged = errors.New("a program has begun to write to the file, and this one may not make the files that it needs to read it then: what was read may be of different times, so read it again")

// Close closes the connection. It returns an error if what was read may be of different times.
func (r *Reader) Close() error {
	err := r.Conn.Close()
	if err != nil || r.opened == nil {
		return err
	}
	now, err := os.Stat(r.path)
	if err == nil && (hasLog(r.path) || !os.SameFile(r.opened, now) || r.opened.Size() != now.Size() || !r.opened.ModTime().Equal(now.ModTime())) {
		err = errChanged
	}
	if err != nil {
		return fmt.Errorf("sqlite: %s: %w", r.path, err)
	}
	return nil
}
