//go:build unix

package files

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// Neither a file without an end nor one that nobody writes to holds anything up.
func TestOddFiles(t *testing.T) {
	if _, err := Read("/dev/zero"); err == nil || !strings.Contains(err.Error(), "it has more than 16777216 bytes") {
		t.Errorf("/dev/zero: %v", err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	must.OK(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{"/dev/zero", pipe} {
		if _, err := ReadRegular(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
