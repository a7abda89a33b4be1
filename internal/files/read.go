// Package files reads the files that a user names (a kubeconfig, a token, certificates), and
// replaces files, so that a process that is killed leaves the old one or the new one.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxBytes is more than any of these files needs. Without a bound, /dev/zero would be read until no
// memory is left.
const maxBytes = 16 << 20

var errIrregular = errors.New("not a regular file, and it is read again and again")

// Read reads a file of any kind to its end. It waits for whoever writes to a pipe.
func Read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it has more than %d bytes", maxBytes)}
	}
	return data, err
}

// ReadRegular reads a regular file. It refuses all others, because to open or to read them may take
// forever: a pipe waits for whoever writes to it.
func ReadRegular(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errIrregular}
	}
	return Read(path)
}
