//go:build unix

package sqlite_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relist-go/relist/durable/sqlite"
	"github.com/relist-go/relist/internal/must"
)

// The error is about the folder, not about the lock. It says what the system says.
func TestFolderThatCannotBeWritten(t *testing.T) {
	dir := "/proc" // not even root makes a file there
	if os.Geteuid() != 0 {
		var err error
		if dir, err = filepath.EvalSymlinks(t.TempDir()); err != nil {
			t.Fatal(err)
		}
		must.OK(t, os.Chmod(dir, 0o500))
	}
	path := filepath.Join(dir, "copy.db")
	_, err := sqlite.Open(path, sqlite.Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "sqlite: open "+path+": cannot make a file in the folder "+dir+": ") || strings.Contains(err.Error(), ".lock") {
		t.Errorf("error: %v", err)
	}
	if os.Geteuid() != 0 && !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error: %v, want a missing permission", err)
	}
}
