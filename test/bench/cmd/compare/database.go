package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/relist-go/relist/test/bench/cases"
)

// newDatabase makes an empty database for a run, and returns the flags that name it.
func newDatabase(ctx context.Context, kind cases.Database) (flags []string, drop func() error, err error) {
	switch kind {
	case cases.SQLite:
		dir, err := os.MkdirTemp("", "bench-sqlite-")
		if err != nil {
			return nil, nil, err
		}
		return []string{"-database=" + filepath.Join(dir, "pods.db")}, func() error { return os.RemoveAll(dir) }, nil
	case cases.Postgres:
		return newPostgres(ctx)
	case cases.NoDatabase:
	}
	return nil, func() error { return nil }, nil
}
