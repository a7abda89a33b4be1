package main

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/relist-go/relist/test/bench/cases"
	"github.com/relist-go/relist/test/internal/pgserver"
)

// newDatabase makes an empty database for a run, and returns the flags that name it.
func newDatabase(kind cases.Database) (flags []string, drop func() error, err error) {
	switch kind {
	case cases.SQLite:
		dir, err := os.MkdirTemp("", "bench-sqlite-")
		if err != nil {
			return nil, nil, err
		}
		return []string{"-database=" + filepath.Join(dir, "pods.db")}, func() error { return os.RemoveAll(dir) }, nil
	case cases.Postgres:
		s, err := pgserver.New(nil) // with the settings of a new installation
		if err != nil {
			return nil, nil, err
		}
		return []string{"-database=" + s.URL("postgres", nil), "-database-pid=" + strconv.Itoa(s.PID())}, s.Remove, nil
	case cases.NoDatabase:
	}
	return nil, func() error { return nil }, nil
}
