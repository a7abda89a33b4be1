package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := func(size int) string {
		path := filepath.Join(dir, "file")
		must.OK(t, os.WriteFile(path, make([]byte, size), 0o600))
		return path
	}
	for _, size := range []int{0, 1, maxBytes} {
		path := file(size)
		for _, read := range []func(string) ([]byte, error){Read, ReadRegular} {
			if data, err := read(path); err != nil || len(data) != size {
				t.Errorf("%d bytes: read %d, %v", size, len(data), err)
			}
		}
	}
	for path, want := range map[string]string{
		file(maxBytes + 1):         "it has more than 16777216 bytes",
		filepath.Join(dir, "none"): "no such file",
		dir:                        "directory",
	} {
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read %s: %v, want %s", path, err, want)
		}
	}
	if _, err := ReadRegular(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: %v", err)
	}
}
