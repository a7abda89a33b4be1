package durabletest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/object"
)

// recorder is a testing.TB for a check that is to fail.
type recorder struct {
	testing.TB
	ctx context.Context //nolint:containedctx // what Context returns

	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }
func (r *recorder) FailNow()                 { runtime.Goexit() }
func (r *recorder) Fatal(args ...any)        { r.Fatalf("%v", args...) }

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	r.FailNow()
}

// failuresOf runs a check, and returns its failures.
func failuresOf(t *testing.T, name string, newPlace func(testing.TB) Place[obj]) []string {
	t.Helper()
	i := slices.IndexFunc(checks[obj](), func(c check[obj]) bool { return c.name == name })
	if i < 0 {
		t.Fatalf("there is no check %s", name)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &recorder{TB: t, ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		checks[obj]()[i].run(r, newPlace)
	}()
	<-done
	cancel()
	for _, cleanup := range slices.Backward(r.cleanups) {
		cleanup()
	}
	return r.failures
}

// bent is a Copy in memory that breaks a promise: what is set replaces a method.
type bent struct {
	*memoryCopy[obj]
	load     func(ctx context.Context) (durable.State, error)
	held     func(ctx context.Context, keys []string) ([]object.Meta, error)
	keys     func(ctx context.Context, after string, limit int) ([]string, error)
	begin    func(ctx context.Context, current durable.State, list bool) (durable.Tx[obj], error)
	write    func(ctx context.Context, tx durable.Tx[obj], changes []durable.Change[obj]) error
	commit   func(ctx context.Context, tx durable.Tx[obj], next durable.State) error
	rollback func(tx durable.Tx[obj]) error
	kill     func()

	read chan struct{} // has an element if somebody has read all rows; nil if nobody tells
}

// awaitReader waits until somebody else has read all rows twice, so that one of the readings began
// after now. It does so once.
func (b *bent) awaitReader() {
	if b.read == nil {
		return
	}
	for range 3 { // one may be there already
		select {
		case <-b.read:
		case <-time.After(patience): // nobody reads
		}
	}
	b.read = nil
}

type bentTx struct {
	durable.Tx[obj]
	b *bent
}

func (b *bent) Load(ctx context.Context) (durable.State, error) {
	if b.load != nil {
		return b.load(ctx)
	}
	return b.memoryCopy.Load(ctx)
}

func (b *bent) Held(ctx context.Context, keys []string) ([]object.Meta, error) {
	if b.held != nil {
		return b.held(ctx, keys)
	}
	return b.memoryCopy.Held(ctx, keys)
}

func (b *bent) Keys(ctx context.Context, after string, limit int) ([]string, error) {
	if b.keys != nil {
		return b.keys(ctx, after, limit)
	}
	return b.memoryCopy.Keys(ctx, after, limit)
}

func (b *bent) Begin(ctx context.Context, current durable.State, list bool) (tx durable.Tx[obj], err error) {
	if b.begin != nil {
		tx, err = b.begin(ctx, current, list)
	} else {
		tx, err = b.memoryCopy.Begin(ctx, current, list)
	}
	if err != nil {
		return nil, err
	}
	return &bentTx{tx, b}, nil
}

func (tx *bentTx) Write(ctx context.Context, changes []durable.Change[obj]) error {
	if tx.b.write != nil {
		return tx.b.write(ctx, tx.Tx, changes)
	}
	return tx.Tx.Write(ctx, changes)
}

func (tx *bentTx) Commit(ctx context.Context, next durable.State) error {
	if tx.b.commit != nil {
		return tx.b.commit(ctx, tx.Tx, next)
	}
	return tx.Tx.Commit(ctx, next)
}

func (tx *bentTx) Rollback() error {
	if tx.b.rollback != nil {
		return tx.b.rollback(tx.Tx)
	}
	return tx.Tx.Rollback()
}

// eachChange makes a write that bends each change, or leaves it out.
func eachChange(bend func(b *bent, c durable.Change[obj]) (durable.Change[obj], bool)) func(*bent) {
	return func(b *bent) {
		b.write = func(ctx context.Context, tx durable.Tx[obj], changes []durable.Change[obj]) error {
			var bentOnes []durable.Change[obj]
			for _, c := range changes {
				if c, ok := bend(b, c); ok {
					bentOnes = append(bentOnes, c)
				}
			}
			return tx.Write(ctx, bentOnes)
		}
	}
}

// eachLoad makes a load that bends the state.
func eachLoad(bend func(*durable.State)) func(*bent) {
	return func(b *bent) {
		b.load = func(ctx context.Context) (durable.State, error) {
			state, err := b.memoryCopy.Load(ctx)
			bend(&state)
			return state, err
		}
	}
}

// eachBegin makes a begin that bends what is compared.
func eachBegin(bend func(current *durable.State, last durable.State)) func(*bent) {
	return func(b *bent) {
		b.begin = func(ctx context.Context, current durable.State, list bool) (durable.Tx[obj], error) {
			bend(&current, b.m.State())
			return b.memoryCopy.Begin(ctx, current, list)
		}
	}
}

// renamed makes a write that bends keys, and a Held that does the same.
func renamed(bend func(key string) string) func(*bent) {
	return func(b *bent) {
		eachChange(func(_ *bent, c durable.Change[obj]) (durable.Change[obj], bool) {
			c.Meta.Key = bend(c.Meta.Key)
			return c, true
		})(b)
	}
}

// deletedIf makes a write that deletes a row only if the row and the change agree.
func deletedIf(agree func(row, change object.Meta) bool) func(*bent) {
	return eachChange(func(b *bent, c durable.Change[obj]) (durable.Change[obj], bool) {
		metas, _ := b.memoryCopy.Held(context.Background(), []string{c.Meta.Key})
		return c, c.Op == durable.Put || metas[0].Key == "" || agree(metas[0], c.Meta)
	})
}

// without makes a write that ignores a sort of changes.
func without(how durable.Op) func(*bent) {
	return eachChange(func(_ *bent, c durable.Change[obj]) (durable.Change[obj], bool) { return c, c.Op != how })
}

// rewritten makes a write that bends the JSON of objects.
func rewritten(bend func(text []byte) []byte) func(*bent) {
	return func(b *bent) {
		b.write = func(ctx context.Context, tx durable.Tx[obj], changes []durable.Change[obj]) error {
			err := tx.Write(ctx, changes)
			for _, c := range changes {
				if row := b.tx.rows[c.Meta.Key]; row.Meta.Key != "" {
					row.Object = bend(row.Object)
					b.tx.rows[c.Meta.Key] = row
				}
			}
			return err
		}
	}
}

// writeThrough makes a write whose changes can be seen at once, if the row of list says so.
func writeThrough(when func(list bool) bool) func(*bent) {
	return func(b *bent) {
		through := false
		b.begin = func(ctx context.Context, current durable.State, list bool) (durable.Tx[obj], error) {
			through = when(list)
			return b.memoryCopy.Begin(ctx, current, list)
		}
		b.write = func(ctx context.Context, tx durable.Tx[obj], changes []durable.Change[obj]) error {
			err := tx.Write(ctx, changes)
			if through {
				b.m.mu.Lock()
				defer b.m.mu.Unlock()
				b.tx.apply(b.m.rows)
			}
			return err
		}
	}
}

func lockless(b *bent) {
	b.begin = func(_ context.Context, current durable.State, _ bool) (durable.Tx[obj], error) {
		if last := b.m.State(); last.Epoch != current.Epoch || last.Point.Version != current.Point.Version {
			return nil, durable.ErrFenced
		}
		b.tx = &memoryTx[obj]{c: b.memoryCopy, rows: map[string]Row{}}
		runtime.Gosched()
		return b.tx, nil
	}
	b.commit = func(_ context.Context, _ durable.Tx[obj], next durable.State) error {
		b.m.mu.Lock()
		defer b.m.mu.Unlock()
		b.tx.apply(b.m.rows)
		b.m.state, b.tx = next, nil
		return nil
	}
	b.rollback = func(durable.Tx[obj]) error { b.tx = nil; return nil }
	b.kill = func() { b.tx = nil }
}

// sortedBy makes a keys that has another order.
func sortedBy(by func(string) string) func(*bent) {
	return func(b *bent) {
		b.keys = func(ctx context.Context, after string, limit int) ([]string, error) {
			all, err := b.memoryCopy.Keys(ctx, "", 1<<30)
			slices.SortFunc(all, func(x, y string) int { return strings.Compare(by(x)+"\x00"+x, by(y)+"\x00"+y) })
			all = slices.DeleteFunc(all, func(key string) bool { return by(key)+"\x00"+key <= by(after)+"\x00"+after })
			return all[:min(limit, len(all))], err
		}
	}
}

// heldOf makes a held that looks up other keys.
func heldOf(bend func([]string) []string) func(*bent) {
	return func(b *bent) {
		b.held = func(ctx context.Context, keys []string) ([]object.Meta, error) {
			return b.memoryCopy.Held(ctx, bend(keys))
		}
	}
}
