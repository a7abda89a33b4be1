package rotating

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// files is a folder as the kubelet makes it for secrets: each file is a symbolic link
// into a folder that is replaced as a whole, by one rename.
type files struct {
	t       testing.TB
	dir     string
	version int
}

func (f *files) path(name string) string { return filepath.Join(f.dir, name) }

// replace gives the files new contents at once.
func (f *files) replace(contents map[string][]byte) {
	f.t.Helper()
	f.version++
	data := "..data_" + strconv.Itoa(f.version)
	err := os.Mkdir(f.path(data), 0o700)
	for name, text := range contents {
		err = errors.Join(err, os.WriteFile(filepath.Join(f.dir, data, name), text, 0o600))
		if f.version == 1 {
			err = errors.Join(err, os.Symlink(filepath.Join("..data", name), f.path(name)))
		}
	}
	err = errors.Join(err, os.Symlink(data, f.path("..data_tmp")), os.Rename(f.path("..data_tmp"), f.path("..data")))
	if err != nil {
		f.t.Fatal(err)
	}
}
