package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	driver "zombiezen.com/go/sqlite"
)

// resolve returns the path that every process has for the file, so that all of them lock the same.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	target, err := filepath.EvalSymlinks(path)
	if err == nil {
		if info, err := os.Stat(target); err == nil && info.IsDir() {
			return "", fmt.Errorf("%s: it is a folder", target)
		}
		return target, nil
	}
	folder := filepath.Dir(path)
	if errors.Is(err, syscall.ENOTDIR) {
		for info, failed := os.Stat(folder); failed != nil || info.IsDir(); info, failed = os.Stat(folder) {
			if folder == filepath.Dir(folder) {
				return "", err // unreachable, if nobody changes the folders just now: one of them is a file
			}
			folder = filepath.Dir(folder)
		}
		return "", &worded{fmt.Sprintf("%s is a file, not a folder: name another path", folder), err}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &worded{fmt.Sprintf("the folder %s does not exist: make it first", folder), err}
	}
	if err != nil {
		return "", fmt.Errorf("the folder of %s: %w", path, err)
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// worded is an error in other words.
type worded struct {
	text string
	err  error
}

func (e *worded) Error() string { return e.text }

func (e *worded) Unwrap() error { return e.err }

// ErrLocked is the error of [Open] if another process has opened the file for writing, and one of
// the two has not set Options.Shared.
var ErrLocked = errors.New("another program has opened it")

// lock locks a file beside path until the process ends. SQLite itself does it, as a transaction
// that excludes all others, or all that are not shared, because it knows how to lock on every
// system. The file of the database cannot be used for that, because then nobody could read it.
func lock(path string, shared bool) (*driver.Conn, error) {
	name := path + ".lock"
	conn, err := driver.OpenConn(name, driver.OpenReadWrite|driver.OpenCreate)
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, whyNoLock(name, err))
	}
	conn.SetBusyTimeout(0)
	begin := []string{"BEGIN EXCLUSIVE"}
	if shared {
		begin = []string{"BEGIN", "SELECT count(*) FROM sqlite_schema"} // a transaction that reads begins when it reads
	}
	for _, statement := range begin {
		if err = exec(conn, statement, nil); err != nil {
			break
		}
	}
	if err != nil {
		_ = conn.Close() // err says what went wrong
		if driver.ErrCode(err).ToPrimary() == driver.ResultBusy {
			return nil, fmt.Errorf("sqlite: open %s: %w (%s is locked): stop that program, or set Options.Shared in both if they keep different copies in it", path, ErrLocked, name)
		}
		return nil, fmt.Errorf("sqlite: open %s: %w", path, whyNoLock(name, err))
	}
	return conn, nil
}

// whyNoLock tries to make a file in the folder: SQLite does not say what the system said. It is a
// file of another name, because to close the locked one would end the locks that this process has
// on it.
func whyNoLock(name string, err error) error {
	folder := filepath.Dir(name)
	file, failed := os.CreateTemp(folder, filepath.Base(name)+".*")
	if failed == nil {
		_ = file.Close() // nothing was written
		_ = os.Remove(file.Name())
		return fmt.Errorf("lock %s: %w", name, err)
	}
	if from, ok := errors.AsType[*fs.PathError](failed); ok {
		failed = from.Err // without the name of a file that nobody asked for
	}
	return fmt.Errorf("cannot make a file in the folder %s: %w", folder, failed)
}

func (db *DB) unlock() {
	if db.lock != nil {
		_ = db.lock.Close() // of a transaction that has written nothing
		db.lock = nil
	}
}
