//go:build unix

package sqlite_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/sqlite"
	"github.com/relist-go/relist/internal/must"
)

// Copies may have secrets, so nobody but the owner of a new file reads it, or the files beside it.
// Whoever gives others the right to read it keeps that.
func TestPermissions(t *testing.T) {
	r := newRig(t, durable.Table{})
	want := func(mode fs.FileMode) {
		t.Helper()
		r.commit(true, "5", put("shop/a", "u1", "1", "n1"))
		for _, more := range []string{"", "-wal", "-shm"} {
			info, err := os.Stat(r.path + more)
			must.OK(t, err)
			if got := info.Mode().Perm(); got != mode {
				t.Errorf("copy.db%s: %v, want %v", more, got, mode)
			}
		}
	}
	want(0o600)
	r.db.Close()
	must.OK(t, os.Chmod(r.path, 0o640))
	r.open(durable.Table{})
	want(0o640)
}

// A reader that cannot make files beside a copy that no program has open reads it, and learns if a
// program begins to write meanwhile.
func TestReaderThatCannotMakeFiles(t *testing.T) {
	r := newRig(t, durable.Table{})
	r.commit(true, "5", put("shop/a", "u1", "1", "n1"))
	r.db.Close()
	forbid, allow := func() error { return os.Chmod(filepath.Dir(r.path), 0o500) }, func() error { return os.Chmod(filepath.Dir(r.path), 0o700) }
	if os.Geteuid() == 0 { // not even root makes or opens a file of this name
		forbid, allow = func() error { return os.Symlink(r.path+"-shm", r.path+"-shm") }, func() error { return os.Remove(r.path + "-shm") }
	}
	must.OK(t, forbid())
	open := func() *sqlite.Reader {
		t.Helper()
		reader, err := sqlite.OpenReader(r.path)
		must.OK(t, err)
		if diff := cmp.Diff([]string{"shop/a"}, query(t, reader.Conn, "SELECT key FROM pods")); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
		return reader
	}
	if err := open().Close(); err != nil {
		t.Errorf("Close of a file that nobody has changed: %v", err)
	}

	readers := []*sqlite.Reader{open(), open()}
	must.OK(t, allow())
	r.open(durable.Table{})
	r.commit(false, "6", gone(durable.Deleted, "shop/a", "u1", "6"))
	for i, reader := range readers { // while a program writes, and when it has stopped
		if i == 1 {
			r.db.Close()
		}
		if err := reader.Close(); err == nil || !strings.Contains(err.Error(), r.path+": a program has begun to write to the file") {
			t.Errorf("Close: %v", err)
		}
	}
}

// If the log of a killed program cannot be read, its commits would be missing.
func TestReaderThatCannotReadTheLog(t *testing.T) {
	r := newRig(t, durable.Table{})
	r.db.Close()
	for _, more := range []string{"-wal", "-shm"} {
		must.OK(t, os.Symlink(r.path+more, r.path+more))
	}
	if _, err := sqlite.OpenReader(r.path); err == nil || !strings.Contains(err.Error(), "the program must be allowed to read the file, and those beside it with -wal and -shm") {
		t.Errorf("OpenReader: %v", err)
	}
}
