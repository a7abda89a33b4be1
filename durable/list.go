package durable

import (
	"context"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
)

// list is a list that the reflector is reading. Its objects are written while it arrives. If the
// copy has a version, they are written in one transaction, so that no reader sees half of a list.
// Otherwise they are written in many transactions.
type list[T object.Object] struct {
	w       *writer[T]
	reuse   bool // a row that has the version of an item need not be written
	began   time.Time
	seen    keySet
	changes []Change[T] // that are not in a transaction
	bytes   int

	tx      Tx[T] // nil while none is open; it is opened at the first change, so that other writers of the database wait less
	pending int   // the number of changes that tx has from the writer's batch; they come before those of the list
	written int

	identified bool // the server that sends the list is of the copy's cluster

	ended   bool // End has been called; the next point belongs to the list
	keepAll bool
	version string
}

func (l *list[T]) rollback() error {
	if l.tx == nil {
		return nil
	}
	tx := l.tx
	l.tx, l.pending = nil, 0
	return tx.Rollback()
}

// commit commits the transaction. After that the transaction is over, even if the commit has
// failed.
func (l *list[T]) commit(ctx context.Context, next State) error {
	tx := l.tx
	l.tx = nil
	return tx.Commit(ctx, next)
}

// BeginList implements [reflector.Sink].
func (w *writer[T]) BeginList(reuse bool) reflector.Replacement[T] {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropList()
	l := &list[T]{w: w, reuse: reuse, began: time.Now(), seen: newKeySet()}
	if w.dead == nil {
		w.flush()
		w.list = l
	}
	return l
}

// Drop implements [reflector.Replacement].
func (l *list[T]) Drop() {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.w.dropList()
}

// dropList rolls the transaction of a list back. The changes in the batch wait again for a point.
func (w *writer[T]) dropList() {
	if w.list == nil {
		return
	}
	l := w.list
	w.list = nil
	w.mirror.board.listing(0)
	clear(w.expected)
	if w.dead != nil {
		return // Load rolls back what is open
	}
	if err := l.rollback(); err != nil {
		_ = w.die(fmt.Errorf("roll back a list of %s: %w", w.state.Stream, err))
	}
}

// Part implements [reflector.Replacement].
func (l *list[T]) Part(objects []T, metas []object.Meta) error {
	w := l.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.identifyList(); err != nil {
		return err
	}
	for i, obj := range objects {
		c := Change[T]{Meta: metas[i], Object: obj, Op: Put}
		if l.isWritten(c.Meta) {
			continue
		}
		l.changes = append(l.changes, c)
		l.bytes += size(c)
		if len(l.changes) >= w.mirror.opts.BatchRows || l.bytes >= batchBytes {
			if err := w.writeList(); err != nil {
				return err
			}
		}
	}
	w.mirror.opts.Trace.ListPart(l.seen.len())
	w.mirror.board.listing(l.seen.len())
	return nil
}

// isWritten notes the key of an item, and reports whether its row need not be written. If a key
// comes twice in one list, the later object is right, and the row may have that of the earlier one
// by now.
func (l *list[T]) isWritten(item object.Meta) bool {
	again := l.seen.has(item.Key)
	l.seen.add(item.Key)
	if !l.reuse || again {
		return false
	}
	row, ok := l.w.meta(item.Key)
	return ok && row.UID == item.UID && row.ResourceVersion == item.ResourceVersion
}

// identifyList asks once for each list, when the list begins to arrive, whether the server is still
// of the same cluster.
func (w *writer[T]) identifyList() error {
	if w.dead != nil || w.list.identified {
		return w.dead
	}
	if err := w.identify(); err != nil {
		return w.die(err)
	}
	w.list.identified = true
	return nil
}

// writeList writes what the list has so far. If the copy has no version, writeList also commits
// what it has written.
func (w *writer[T]) writeList() error {
	l := w.list
	if err := w.listTx(); err != nil {
		return err
	}
	if err := w.write(l.tx, l.changes); err != nil {
		return w.die(fmt.Errorf("write a list of %s: %w", w.state.Stream, err))
	}
	l.written += len(l.changes)
	clear(l.changes)
	l.changes, l.bytes = l.changes[:0], 0
	if w.state.Point.Version != "" {
		return nil
	}
	began := time.Now()
	if err := l.commit(w.ctx, w.state); err != nil {
		return w.die(fmt.Errorf("commit a part of a list of %s: %w", w.state.Stream, err))
	}
	w.committed(w.state, began, Commit{Changes: l.pending + l.written, List: true, Since: l.began, Part: true})
	w.batch.drop(l.pending)
	w.follow()
	l.pending, l.written = 0, 0
	return nil
}

// listTx begins the transaction of the list, if it has not begun. The changes that wait in the
// batch come before those of the list.
func (w *writer[T]) listTx() error {
	l := w.list
	if l.tx != nil {
		return nil
	}
	tx, err := w.begin(true)
	if err == nil {
		l.tx, l.pending = tx, len(w.batch.changes)
		err = w.write(tx, w.batch.changes)
	}
	if err != nil {
		return w.die(fmt.Errorf("write a list of %s: %w", w.state.Stream, err))
	}
	return nil
}

// End implements [reflector.Replacement]. The commit follows with the next point.
func (l *list[T]) End(resourceVersion string, keep []string, keepAll bool) error {
	w := l.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.identifyList(); err != nil {
		return err
	}
	for _, key := range keep {
		l.seen.add(key)
	}
	if len(w.batch.changes) > 0 || len(l.changes) > 0 {
		if err := w.writeList(); err != nil {
			return err
		}
	}
	if !keepAll {
		if err := w.eachKey(w.sweep); err != nil {
			return w.die(fmt.Errorf("delete what a list of %s lacks: %w", w.state.Stream, err))
		}
	}
	l.ended, l.keepAll, l.version = true, keepAll, resourceVersion
	return nil
}

// sweep deletes the rows of those keys that the list lacks.
func (w *writer[T]) sweep(keys []string) error {
	l := w.list
	var gone []string
	for _, key := range keys {
		if !l.seen.has(key) {
			gone = append(gone, key)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	metas, err := w.mirror.copy.Held(w.ctx, gone)
	if err != nil {
		return err
	}
	how := Inferred
	if w.state.Unselected {
		how = Unselected
	}
	changes := make([]Change[T], len(gone))
	for i := range gone {
		changes[i] = Change[T]{Meta: metas[i], Op: how}
		changes[i].Meta.Key = gone[i]
	}
	if err := w.listTx(); err != nil {
		return err
	}
	l.written += len(changes)
	return w.write(l.tx, changes)
}

// commitList commits the rest of a list together with its point.
func (w *writer[T]) commitList(p reflector.Point) {
	l := w.list
	next := w.state
	next.moveTo(p, l.keepAll)
	next.Unselected = next.Unselected && (l.keepAll || p.Version == "")
	began := time.Now()
	if err := w.listTx(); err != nil {
		return
	}
	if err := l.commit(w.ctx, next); err != nil {
		_ = w.die(fmt.Errorf("commit a list of %s at version %s: %w", next.Stream, l.version, err))
		return
	}
	w.list = nil
	w.batch.drop(l.pending)
	w.batch.pointed = false
	w.committed(next, began, Commit{Changes: l.pending + l.written, List: true, Since: l.began})
	w.mirror.board.listing(0)
	w.follow()
}

// keySet is a set of keys that takes 35 to 55 bytes a key, however long the key is: a hash of 128
// bits, and the free places of a map. It confuses two keys only if their hashes are equal.
type keySet struct {
	seeds [2]maphash.Seed
	keys  map[[2]uint64]struct{}
}

func newKeySet() keySet {
	return keySet{[2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, map[[2]uint64]struct{}{}}
}

func (s *keySet) hash(key string) [2]uint64 {
	return [2]uint64{maphash.String(s.seeds[0], key), maphash.String(s.seeds[1], key)}
}

func (s *keySet) add(key string)      { s.keys[s.hash(key)] = struct{}{} }
func (s *keySet) has(key string) bool { _, ok := s.keys[s.hash(key)]; return ok }
func (s *keySet) len() int            { return len(s.keys) }
