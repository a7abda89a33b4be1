package durable

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
)

// writer is what the reflector writes to, from one opening of the copy to its first failure. It
// gathers changes, and commits them at the points that the reflector tells. Changes of events are
// in batch.go, lists in list.go.
type writer[T object.Object] struct {
	mirror *Mirror[T]
	ctx    context.Context //nolint:containedctx // of the calls of the copy: the methods of a reflector.Sink have none
	cancel context.CancelCauseFunc

	// mu guards everything below and the calls of the copy. The reflector's goroutine and the
	// timer's take it.
	mu    sync.Mutex
	state State // of the last commit
	dead  error // why nothing more is committed; nil while the writer lives

	unsure bool // another server may answer than the one that the rows are of, and Identify was not asked since

	batch    batch[T]
	list     *list[T] // that the reflector is reading; nil if none
	timer    *time.Timer
	expected map[string]object.Meta // the rows of the keys that the reflector asks for next
}

var (
	_ reflector.Sink[object.Object]   = (*writer[object.Object])(nil)
	_ reflector.Holder[object.Object] = (*writer[object.Object])(nil)
)

// die ends the writer: nothing more is committed, and the reflector's Run ends.
func (w *writer[T]) die(err error) error {
	if w.dead == nil {
		w.dead = err
		w.cancel(err)
	}
	return w.dead
}

// stop ends the writer for good. After it has returned, the copy is not called any more.
func (w *writer[T]) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.dropList()
	w.dead = cmp.Or(w.dead, context.Canceled)
}

// finish commits what can be committed, at the end of Run. If a call of the copy has failed, its
// transaction may be open; then finish ends it, because other copies in the same database wait for
// it.
func (w *writer[T]) finish(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead == nil && w.list == nil {
		w.ctx = ctx
		w.flush()
	}
	if w.dead != nil {
		_, _ = w.mirror.copy.Load(ctx) // it rolls back; if it fails, Run returns all the same
	}
}

// Get implements [reflector.Holder]. The objects are in the database.
func (*writer[T]) Get(string) (obj T, ok bool) { return obj, false }

// Meta implements [reflector.Holder].
func (w *writer[T]) Meta(key string) (object.Meta, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.meta(key)
}

// meta returns what is known about the row of a key. If a row may be of another shape, its version
// is not told: an object of that version would be taken for the same, and would not be written.
func (w *writer[T]) meta(key string) (object.Meta, bool) {
	if how, meta, ok := w.batch.last(key); ok {
		return meta, how == Put
	}
	meta, ok := w.expected[key]
	if !ok {
		w.lookUp([]string{key})
		meta = w.expected[key]
	}
	if w.state.reshaped(key) {
		meta.ResourceVersion = ""
	}
	return meta, meta.Key != ""
}

// Expect implements [reflector.Holder].
func (w *writer[T]) Expect(keys []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.expected)
	w.lookUp(keys)
}

// lookUp asks the copy for the rows of keys. If that fails, the writer dies: the keys then look as
// if they had no rows, but nothing more is committed.
func (w *writer[T]) lookUp(keys []string) {
	if w.dead != nil || len(keys) == 0 {
		return
	}
	metas, err := w.mirror.copy.Held(w.ctx, keys)
	if err == nil && len(metas) != len(keys) {
		err = fmt.Errorf("the copy has told %d rows for %d keys", len(metas), len(keys))
	}
	if err != nil {
		_ = w.die(fmt.Errorf("look up %d rows of %s: %w", len(keys), w.state.Stream, err))
		return
	}
	for i, key := range keys {
		w.expected[key] = metas[i]
	}
}

// identify asks whether the server is still of the same cluster.
func (w *writer[T]) identify() error {
	opts := &w.mirror.opts
	if opts.Identify == nil {
		return nil
	}
	cluster, err := opts.Identify(w.ctx)
	if err != nil {
		return fmt.Errorf("ask which cluster the server belongs to, before the copy of %s is changed: %w", opts.Stream, err)
	}
	if cluster != opts.Stream.Cluster {
		now := opts.Stream
		now.Cluster = cluster
		return &MismatchError{Has: opts.Stream, Wanted: now}
	}
	w.unsure = false
	return nil
}

// Keys implements [reflector.Holder].
func (w *writer[T]) Keys() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	err := w.eachKey(func(keys []string) error {
		for _, key := range keys {
			if _, _, pending := w.batch.last(key); !pending {
				all = append(all, key)
			}
		}
		return nil
	})
	if err != nil {
		_ = w.die(err)
	}
	return append(all, w.batch.puts()...)
}

// eachKey calls f with the keys of all rows, some at a time.
func (w *writer[T]) eachKey(f func(keys []string) error) error {
	const some = 1000
	after := ""
	for w.dead == nil {
		keys, err := w.mirror.copy.Keys(w.ctx, after, some)
		if err != nil {
			return fmt.Errorf("read the keys of %s after %q: %w", w.state.Stream, after, err)
		}
		if len(keys) == 0 {
			return nil
		}
		if keys[0] <= after {
			return fmt.Errorf("read the keys of %s after %q: the copy has told %q, which is not after it", w.state.Stream, after, keys[0])
		}
		if err := f(keys); err != nil {
			return err
		}
		after = keys[len(keys)-1]
	}
	return w.dead
}
