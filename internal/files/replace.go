package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Replace calls write with a new file, syncs it to the disk, and gives it the name path. Only its
// owner can read it. If write returns an error, the old file stays.
//
// A process that is killed in Replace leaves an unfinished file beside the other. The first Replace
// an hour later removes it.
func Replace(path string, write func(io.Writer) error) (err error) {
	fresh, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp") // with the mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = fresh.Close() // err says more
			_ = os.Remove(fresh.Name())
		}
	}()
	removeLeft(path, fresh)
	if err := write(fresh); err != nil {
		return err
	}
	if err := fresh.Sync(); err != nil {
		return err
	}
	if err := fresh.Close(); err != nil {
		return err
	}
	if err := os.Rename(fresh.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// leftAfter is the age at which an unfinished file counts as left by a process that was killed.
const leftAfter = time.Hour

// removeLeft removes the files of processes that were killed while they wrote, before fresh is
// written, because the disk may be full of them. It uses the clock of the file system: fresh was
// made just now.
func removeLeft(path string, fresh *os.File) {
	made, err := fresh.Stat()
	if err != nil {
		return // the next call tries again
	}
	folder := filepath.Dir(path)
	beside, _ := os.ReadDir(folder) // the next call tries again
	for _, file := range beside {
		random, ours := strings.CutPrefix(file.Name(), filepath.Base(path)+".")
		if !ours || !strings.HasSuffix(random, ".tmp") {
			continue
		}
		if left, err := file.Info(); err == nil && made.ModTime().Sub(left.ModTime()) > leftAfter {
			_ = os.Remove(filepath.Join(folder, file.Name())) // the next call tries again
		}
	}
}

// syncFolder makes the name of a new file survive a crash of the machine. Windows cannot do that.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
