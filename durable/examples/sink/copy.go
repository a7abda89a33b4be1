//go:build darwin || linux

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/object"
)

// Copy keeps a resource in one file of JSON, which jq and any other program can read. Each commit
// replaces the file as a whole, so that it never has half of a commit. That is for resources that
// fit into memory and do not change all the time.
type Copy[T any] struct {
	path string
	lock *os.File       // nil until the first Load; locked from Begin to Commit
	file content        // what the file has
	tx   map[string]Row // the rows as the open transaction has them; nil if none is open
}

// content is what the file has.
type content struct {
	State durable.State  `json:"state"`
	Rows  map[string]Row `json:"rows"`
}

// Row is an object.
type Row struct {
	Meta   object.Meta     `json:"meta"`
	Object json.RawMessage `json:"object"`
}

// NewCopy returns a Copy in the file path. If there is no such file, the first commit makes it. The
// lock is the file path.lock.
func NewCopy[T any](path string) *Copy[T] { return &Copy[T]{path: path} }

// Close closes the lock. An open transaction is rolled back.
func (c *Copy[T]) Close() error {
	c.tx = nil
	return c.lock.Close() // which also unlocks
}

// Load implements [durable.Copy].
func (c *Copy[T]) Load(ctx context.Context) (_ durable.State, err error) {
	if c.lock == nil {
		if c.lock, err = os.OpenFile(c.path+".lock", os.O_RDWR|os.O_CREATE, 0o600); err != nil {
			return durable.State{}, err
		}
	}
	err = errors.Join(ctx.Err(), c.Rollback(), c.read())
	return c.file.State, err
}

func (c *Copy[T]) read() error {
	c.file = content{Rows: map[string]Row{}}
	text, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err = cmp.Or(err, json.Unmarshal(text, &c.file)); err != nil {
		err = fmt.Errorf("read the copy in %s (delete the file to begin again): %w", c.path, err)
	}
	return err
}

// rows returns the rows as they are now.
func (c *Copy[T]) rows() map[string]Row {
	if c.tx != nil {
		return c.tx
	}
	return c.file.Rows
}

// Held implements [durable.Copy].
func (c *Copy[T]) Held(ctx context.Context, keys []string) ([]object.Meta, error) {
	metas := make([]object.Meta, len(keys))
	for i, key := range keys {
		metas[i] = c.rows()[key].Meta
	}
	return metas, ctx.Err()
}

// Keys implements [durable.Copy].
func (c *Copy[T]) Keys(ctx context.Context, after string, limit int) ([]string, error) {
	keys := slices.Sorted(maps.Keys(c.rows()))
	first, found := slices.BinarySearch(keys, after)
	if found {
		first++
	}
	return keys[first:min(first+limit, len(keys))], ctx.Err()
}

// Begin implements [durable.Copy].
func (c *Copy[T]) Begin(ctx context.Context, current durable.State, _ bool) (durable.Tx[T], error) {
	for syscall.Flock(int(c.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	err := c.read() // another program may have written it
	if is := c.file.State; err == nil && (is.Epoch != current.Epoch || is.Point.Version != current.Point.Version) {
		err = durable.ErrFenced
	}
	if err != nil {
		return nil, errors.Join(err, c.Rollback())
	}
	c.tx = maps.Clone(c.file.Rows)
	return c, nil
}

// Write implements [durable.Tx].
func (c *Copy[T]) Write(ctx context.Context, changes []durable.Change[T]) error {
	for _, change := range changes {
		if change.Op != durable.Put {
			delete(c.tx, change.Meta.Key)
			continue
		}
		object, err := json.Marshal(change.Object)
		if err != nil {
			return err
		}
		c.tx[change.Meta.Key] = Row{change.Meta, object}
	}
	return ctx.Err()
}

// Commit implements [durable.Tx].
func (c *Copy[T]) Commit(ctx context.Context, next durable.State) error {
	err := ctx.Err()
	if err == nil {
		err = c.replace(content{next, c.tx})
	}
	return errors.Join(err, c.Rollback())
}

// replace replaces the file. It is on the disk before it has the name, so that a power failure
// leaves the old one or the new one.
func (c *Copy[T]) replace(next content) error {
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	file, err := os.Create(c.path + ".new")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	c.file = next
	return os.Rename(file.Name(), c.path)
}

// Rollback implements [durable.Tx].
func (c *Copy[T]) Rollback() error {
	c.tx = nil
	return syscall.Flock(int(c.lock.Fd()), syscall.LOCK_UN)
}
