package durable_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/object"
)

// thing is what the tests mirror.
type thing struct {
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data,omitempty"`
}

// Size implements the size that a Mirror counts.
func (o *thing) Size() int { return 1000 }

// row is an object in a place.
type row struct {
	meta object.Meta
	obj  *thing
}

// place is what survives the programs that write to it.
type place struct {
	mu      sync.Mutex
	rows    map[string]row
	state   durable.State
	checked func(rows map[string]row, state durable.State, changes []durable.Change[*thing], list bool)
}

func newPlace() *place { return &place{rows: map[string]row{}} }

// open returns the place as a program sees it that has begun just now.
func (p *place) open(t testing.TB) *memory { return &memory{t: t, place: p} }

// memory is a Copy of one program. It watches over how the Mirror calls it.
type memory struct {
	t     testing.TB
	place *place
	tx    *memoryTx // nil while none is open

	busy   sync.Mutex
	broken bool                                    // an error was returned: Load is the next call
	fail   func(call string) (before, after error) // what goes wrong; nil for nothing
}

var errDatabase = errors.New("the database is on fire")

// call notes a call. If it returns an error, the call fails before it has done anything, or after.
func (m *memory) call(name string, do func() error) error {
	if !m.busy.TryLock() {
		m.t.Errorf("%s was called while another call runs", name)
		return errDatabase
	}
	defer m.busy.Unlock()
	if m.broken && name != "load" {
		m.t.Errorf("%s was called after an error, before Load", name)
	}
	var before, after error
	if m.fail != nil {
		before, after = m.fail(name)
	}
	err := before
	if err == nil {
		err = do()
	}
	if err == nil {
		err = after
	}
	m.broken = err != nil
	return err
}

func (m *memory) Load(ctx context.Context) (state durable.State, err error) {
	err = m.call("load", func() error {
		m.tx = nil
		m.place.mu.Lock()
		defer m.place.mu.Unlock()
		state = m.place.state
		return ctx.Err()
	})
	return state, err
}

func (m *memory) rows() map[string]row {
	if m.tx != nil {
		return m.tx.rows
	}
	m.place.mu.Lock()
	defer m.place.mu.Unlock()
	return maps.Clone(m.place.rows)
}

func (m *memory) Held(ctx context.Context, keys []string) (metas []object.Meta, err error) {
	err = m.call("held", func() error {
		rows := m.rows()
		for _, key := range keys {
			metas = append(metas, rows[key].meta)
		}
		return ctx.Err()
	})
	return metas, err
}

func (m *memory) Keys(ctx context.Context, after string, limit int) (keys []string, err error) {
	err = m.call("keys", func() error {
		for _, key := range slices.Sorted(maps.Keys(m.rows())) {
			if key > after && len(keys) < min(limit, 3) { // few at a time, so that a sweep has several steps
				keys = append(keys, key)
			}
		}
		return ctx.Err()
	})
	return keys, err
}

func (m *memory) Begin(ctx context.Context, current durable.State, list bool) (tx durable.Tx[*thing], err error) {
	err = m.call("begin", func() error {
		if m.tx != nil {
			m.t.Error("Begin was called while a transaction is open")
		}
		m.place.mu.Lock()
		defer m.place.mu.Unlock()
		if m.place.fences(current) {
			return durable.ErrFenced
		}
		m.tx = &memoryTx{memory: m, current: current, list: list, rows: maps.Clone(m.place.rows)}
		return ctx.Err()
	})
	return m.tx, err
}

// fences reports whether another program has opened the place.
func (p *place) fences(current durable.State) bool {
	return p.state.Epoch != current.Epoch || p.state.Point.Version != current.Point.Version
}

type memoryTx struct {
	*memory

	current durable.State
	list    bool
	rows    map[string]row
	changes []durable.Change[*thing]
}

func (tx *memoryTx) Write(ctx context.Context, changes []durable.Change[*thing]) error {
	return tx.call("write", func() error {
		for _, c := range changes {
			switch {
			case c.Meta.Key == "":
				tx.t.Errorf("a change has no key: %+v", c)
			case c.Op == durable.Put:
				tx.rows[c.Meta.Key] = row{c.Meta, c.Object}
			default:
				delete(tx.rows, c.Meta.Key)
			}
		}
		tx.changes = append(tx.changes, changes...)
		return ctx.Err()
	})
}

func (tx *memoryTx) Commit(ctx context.Context, next durable.State) error {
	return tx.call("commit", func() error {
		tx.tx = nil
		p := tx.place
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.fences(tx.current) {
			return durable.ErrFenced // a real database does not let it come to that
		}
		p.rows, p.state = tx.rows, next
		if p.checked != nil {
			p.checked(p.rows, p.state, tx.changes, tx.list)
		}
		return ctx.Err()
	})
}

func (tx *memoryTx) Rollback() error {
	return tx.call("rollback", func() error {
		tx.tx = nil
		return nil
	})
}
