package durabletest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
)

// fault says which call of a Copy fails, and how.
type fault struct {
	call  int  // 1 is the first; 0 is none
	after bool // it fails after it was done, as if the answer was lost
	kill  bool // and every call after it fails, because the process is gone
}

func (f fault) String() string {
	when, what := "before", "fails"
	if f.after {
		when = "after"
	}
	if f.kill {
		what = "ends the process"
	}
	return fmt.Sprintf("call %d of the Copy %s %s it is done", f.call, what, when)
}

var errFault = errors.New("the call fails, because the test wants it so")

// faulty is a Copy with a fault.
type faulty[T object.Object] struct {
	durable.Copy[T]
	fault

	mu     sync.Mutex
	calls  int
	met    string // the method that failed; "" before that
	killed bool
	misuse string // a call that the Mirror must not make; "" if there was none
}

// do makes one call.
func (f *faulty[T]) do(name string, call func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	switch {
	case f.killed:
		return errFault
	case f.calls != f.call:
		return call()
	}
	f.met, f.killed = name, f.kill
	if f.after {
		if err := call(); err != nil {
			return err
		}
	}
	return errFault
}

// meets returns the method that failed, or "".
func (f *faulty[T]) meets() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.met
}

// Load implements durable.Copy.
func (f *faulty[T]) Load(ctx context.Context) (state durable.State, err error) {
	err = f.do("Load", func() error { state, err = f.Copy.Load(ctx); return err })
	return state, err
}

// Held implements durable.Copy.
func (f *faulty[T]) Held(ctx context.Context, keys []string) (metas []listwatch.Meta, err error) {
	err = f.do("Held", func() error { metas, err = f.Copy.Held(ctx, keys); return err })
	return metas, err
}

// Keys implements durable.Copy.
func (f *faulty[T]) Keys(ctx context.Context, after string, limit int) (keys []string, err error) {
	err = f.do("Keys", func() error { keys, err = f.Copy.Keys(ctx, after, limit); return err })
	return keys, err
}

// Begin implements durable.Copy.
func (f *faulty[T]) Begin(ctx context.Context, current durable.State, list bool) (durable.Tx[T], error) {
	var tx durable.Tx[T]
	err := f.do("Begin", func() (err error) { tx, err = f.Copy.Begin(ctx, current, list); return err })
	if err != nil {
		return nil, err
	}
	return &faultyTx[T]{Tx: tx, f: f}, nil
}

type faultyTx[T object.Object] struct {
	durable.Tx[T]
	f    *faulty[T]
	over bool
}

// do makes one call. If last, the transaction is over after it, whatever it returns.
func (tx *faultyTx[T]) do(name string, last bool, call func() error) error {
	if tx.over {
		tx.f.misuse = name + " of a transaction that was over"
	}
	tx.over = last
	return tx.f.do(name, call)
}

// Write implements durable.Tx.
func (tx *faultyTx[T]) Write(ctx context.Context, changes []durable.Change[T]) error {
	return tx.do("Write", false, func() error { return tx.Tx.Write(ctx, changes) })
}

// Commit implements durable.Tx.
func (tx *faultyTx[T]) Commit(ctx context.Context, next durable.State) error {
	return tx.do("Commit", true, func() error { return tx.Tx.Commit(ctx, next) })
}

// Rollback implements durable.Tx.
func (tx *faultyTx[T]) Rollback() error {
	return tx.do("Rollback", true, func() error { return tx.Tx.Rollback() })
}
