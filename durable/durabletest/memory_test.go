package durabletest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/object"
)

// memory is a place in the memory of the process. If copies of it are opened one after the other,
// each finds what the earlier ones have committed, as if it was on a disk.
type memory[T object.Object] struct {
	writer chan struct{} // has an element while a transaction is open

	mu    sync.Mutex // guards what is committed
	state durable.State
	rows  map[string]Row
}

// newMemory returns an empty memory.
func newMemory[T object.Object]() *memory[T] {
	return &memory[T]{writer: make(chan struct{}, 1), rows: map[string]Row{}}
}

// Place returns the place for [Test].
func (m *memory[T]) Place() Place[T] { return Place[T]{Open: m.Open, Rows: m.Rows} }

// Open opens the copy. kill rolls back a transaction that is open.
func (m *memory[T]) Open() (c durable.Copy[T], kill func()) {
	own := &memoryCopy[T]{m: m}
	return own, own.rollback
}

// Rows returns what is committed, in the order of keys.
func (m *memory[T]) Rows() []Row {
	m.mu.Lock()
	defer m.mu.Unlock()
	var rows []Row
	for _, key := range slices.Sorted(maps.Keys(m.rows)) {
		rows = append(rows, m.rows[key])
	}
	return rows
}

// State returns the state of the last commit.
func (m *memory[T]) State() durable.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return cloneState(m.state)
}

func cloneState(s durable.State) durable.State {
	s.Point.Unsure, s.Point.Newest = slices.Clone(s.Point.Unsure), slices.Clone(s.Point.Newest)
	return s
}

// memoryCopy implements [durable.Copy].
type memoryCopy[T object.Object] struct {
	m  *memory[T]
	tx *memoryTx[T] // nil while none is open
}

// memoryTx implements [durable.Tx].
type memoryTx[T object.Object] struct {
	c    *memoryCopy[T]
	rows map[string]Row // what was written; a Row without a key is deleted
}

var errOver = errors.New("durabletest: the transaction is over")

func (c *memoryCopy[T]) rollback() {
	if c.tx != nil {
		c.tx = nil
		<-c.m.writer
	}
}

func (c *memoryCopy[T]) Load(ctx context.Context) (durable.State, error) {
	c.rollback()
	return c.m.State(), ctx.Err()
}

func (c *memoryCopy[T]) Held(ctx context.Context, keys []string) ([]object.Meta, error) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	metas := make([]object.Meta, len(keys))
	for i, key := range keys {
		row := c.m.rows[key]
		if c.tx != nil {
			if own, ok := c.tx.rows[key]; ok {
				row = own
			}
		}
		metas[i] = row.Meta
	}
	return metas, ctx.Err()
}

func (c *memoryCopy[T]) Keys(ctx context.Context, after string, limit int) ([]string, error) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	rows := c.m.rows
	if c.tx != nil {
		rows = maps.Clone(rows)
		c.tx.apply(rows)
	}
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if key > after && len(keys) < limit {
			keys = append(keys, key)
		}
	}
	return keys, ctx.Err()
}

func (c *memoryCopy[T]) Begin(ctx context.Context, current durable.State, _ bool) (durable.Tx[T], error) {
	if c.tx != nil {
		return nil, errors.New("durabletest: a transaction is open")
	}
	select {
	case c.m.writer <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("durabletest: wait for the transaction of another copy: %w", ctx.Err())
	}
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if last := c.m.state; last.Epoch != current.Epoch || last.Point.Version != current.Point.Version {
		<-c.m.writer
		return nil, durable.ErrFenced
	}
	c.tx = &memoryTx[T]{c: c, rows: map[string]Row{}}
	return c.tx, nil
}

func (tx *memoryTx[T]) Write(ctx context.Context, changes []durable.Change[T]) error {
	if tx.c.tx != tx {
		return errOver
	}
	for _, change := range changes {
		if change.Op != durable.Put {
			tx.rows[change.Meta.Key] = Row{}
			continue
		}
		object, err := json.Marshal(change.Object)
		if err != nil {
			return fmt.Errorf("durabletest: %s: %w", change.Meta.Key, err)
		}
		tx.rows[change.Meta.Key] = Row{Meta: change.Meta, Object: object}
	}
	return ctx.Err()
}

// apply makes the changes.
func (tx *memoryTx[T]) apply(rows map[string]Row) {
	for key, row := range tx.rows {
		if row.Meta.Key == "" {
			delete(rows, key)
		} else {
			rows[key] = row
		}
	}
}

func (tx *memoryTx[T]) Commit(ctx context.Context, next durable.State) error {
	if tx.c.tx != tx {
		return errOver
	}
	defer tx.c.rollback()
	if err := ctx.Err(); err != nil {
		return err
	}
	tx.c.m.mu.Lock()
	defer tx.c.m.mu.Unlock()
	tx.apply(tx.c.m.rows)
	tx.c.m.state = cloneState(next)
	return nil
}

func (tx *memoryTx[T]) Rollback() error {
	if tx.c.tx == tx {
		tx.c.rollback()
	}
	return nil
}
