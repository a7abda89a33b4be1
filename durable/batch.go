package durable

import (
	"fmt"
	"time"

	"github.com/relist-go/relist/internal/goexit"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
)

// batch is the changes that are not committed, in their order.
type batch[T object.Object] struct {
	changes []Change[T]
	places  map[string]int // key to its last change
	bytes   int
	since   time.Time // when the first of changes came

	// marked is the number of changes, from the first on, that belong to point and can be committed
	// with it. If pointed is false, there is nothing to commit.
	marked  int
	point   reflector.Point
	pointed bool
}

func newBatch[T object.Object]() batch[T] { return batch[T]{places: map[string]int{}} }

func (b *batch[T]) add(c Change[T]) {
	if len(b.changes) == 0 {
		b.since = time.Now()
	}
	b.places[c.Meta.Key] = len(b.changes)
	b.changes = append(b.changes, c)
	b.bytes += size(c)
}

func (b *batch[T]) last(key string) (Op, object.Meta, bool) {
	i, ok := b.places[key]
	if !ok {
		return 0, object.Meta{}, false
	}
	return b.changes[i].Op, b.changes[i].Meta, true
}

// puts returns the keys whose last change is a Put.
func (b *batch[T]) puts() []string {
	var keys []string
	for key, i := range b.places { // nobody needs an order
		if b.changes[i].Op == Put {
			keys = append(keys, key)
		}
	}
	return keys
}

// drop forgets the first n changes, which are committed.
func (b *batch[T]) drop(n int) {
	rest := b.changes[n:]
	fresh := newBatch[T]()
	for _, c := range rest {
		fresh.add(c)
	}
	fresh.changes = append(b.changes[:0], fresh.changes...)
	clear(b.changes[len(fresh.changes):]) // let the objects go
	*b = fresh
}

// batchBytes is the size of the objects after which a transaction is committed, see
// Options.BatchRows.
const batchBytes = 4 << 20

// size is how much of batchBytes a change takes.
func size[T any](c Change[T]) int {
	if sized, ok := any(c.Object).(interface{ Size() int }); ok && c.Op == Put {
		return sized.Size()
	}
	return 0
}

// Apply implements [reflector.Sink]. Nobody is offered rows again, so a resync does nothing.
func (w *writer[T]) Apply(c reflector.Change[T]) error {
	switch c.Op {
	case protocol.Add, protocol.Update:
		return w.change(Change[T]{Meta: c.Meta, Object: c.Object, Op: Put})
	case protocol.Delete:
		return w.change(Change[T]{Meta: c.Meta, Object: c.Object, Op: Deleted})
	case protocol.InferDelete:
		return w.deleteInferred(c.Meta)
	case protocol.Resync, protocol.Resumed:
	}
	return nil
}

func (w *writer[T]) deleteInferred(meta object.Meta) error {
	if meta.ResourceVersion == "" {
		w.mu.Lock()
		if row := w.expected[meta.Key]; row.UID == meta.UID {
			meta.ResourceVersion = row.ResourceVersion // which Meta has not told
		}
		w.mu.Unlock()
	}
	return w.change(Change[T]{Meta: meta, Op: Inferred})
}

func (w *writer[T]) change(c Change[T]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead == nil {
		w.batch.add(c)
		w.follow()
	}
	return w.dead
}

// At implements [reflector.Sink]. The changes up to here belong to the point. At commits them, or
// leaves them to a later commit.
func (w *writer[T]) At(_ string, point func() reflector.Point) {
	p := point()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead != nil {
		return
	}
	if w.list != nil && w.list.ended {
		w.commitList(p)
		return
	}
	b := &w.batch
	if p.Version == "" && w.state.Point.Version != "" {
		w.unsure = true
		if !w.tooMuchWaits() {
			return // the changes wait until there is a point again; what is committed stays right
		}
	}
	if w.unsure {
		if err := w.identify(); err != nil {
			_ = w.die(err)
			return
		}
	}
	b.point, b.marked, b.pointed = p, len(b.changes), true
	if w.list != nil {
		return // the transaction of the list takes the waiting changes when it begins; it may be open already
	}
	if w.mirror.opts.BatchDelay < 0 || b.marked >= w.mirror.opts.BatchRows || b.bytes >= batchBytes {
		w.flush()
	} else if w.timer == nil {
		w.timer = time.AfterFunc(w.mirror.opts.BatchDelay, w.timeIsUp)
	}
}

// mostWaiting is how many batches wait in memory for a point.
const mostWaiting = 20

// tooMuchWaits reports whether the changes have to be committed although there is no point for
// them. This can happen if the watch of a server works, but the server does not answer the probes
// for hours: then nobody knows whether it is the same server as before.
func (w *writer[T]) tooMuchWaits() bool {
	opts := &w.mirror.opts
	return len(w.batch.changes)/mostWaiting >= opts.BatchRows || w.batch.bytes/mostWaiting >= batchBytes
}

// timeIsUp commits on the goroutine of the timer.
func (w *writer[T]) timeIsUp() {
	w.mu.Lock()
	goexit.Do(func() {
		w.timer = nil
		if w.dead == nil && w.list == nil {
			w.flush()
		}
	}, func(exited bool) {
		if exited {
			_ = w.die(goexit.Err)
		}
		w.mu.Unlock()
	})
}

// flush commits the changes that belong to a point.
func (w *writer[T]) flush() {
	b := &w.batch
	if !b.pointed {
		return
	}
	began := time.Now()
	next := w.state
	next.moveTo(b.point, false)
	tx, err := w.begin(false)
	if err == nil {
		err = w.write(tx, b.changes[:b.marked])
	}
	if err == nil {
		err = tx.Commit(w.ctx, next)
	}
	if err != nil {
		_ = w.die(fmt.Errorf("commit %d changes of %s up to version %s: %w", b.marked, next.Stream, next.Point.Version, err))
		return
	}
	w.committed(next, began, Commit{Changes: b.marked, Since: b.since})
	b.drop(b.marked)
	w.follow()
}

func (w *writer[T]) begin(list bool) (Tx[T], error) {
	tx, err := w.mirror.copy.Begin(w.ctx, w.state, list)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	return tx, nil
}

// write gives changes to a transaction, some at a time. It also updates expected, which has what is
// known about the rows.
func (w *writer[T]) write(tx Tx[T], changes []Change[T]) error {
	for len(changes) > 0 {
		n := min(len(changes), w.mirror.opts.BatchRows)
		if err := tx.Write(w.ctx, changes[:n]); err != nil {
			return fmt.Errorf("write %d rows, from %s: %w", n, changes[0].Meta.Key, err)
		}
		for _, c := range changes[:n] {
			if _, ok := w.expected[c.Meta.Key]; !ok {
				continue
			}
			if c.Op != Put {
				c.Meta = object.Meta{}
			}
			w.expected[c.Meta.Key] = c.Meta
		}
		changes = changes[n:]
	}
	return nil
}

// committed notes a commit for Status, and reports it to Trace.
func (w *writer[T]) committed(next State, began time.Time, c Commit) {
	w.state = next
	c.Point, c.Duration = next.Point, time.Since(began)
	w.mirror.board.committed(next, c, time.Now())
	w.mirror.opts.Trace.Commit(c)
}

// follow brings the status up to date.
func (w *writer[T]) follow() {
	w.mirror.board.pending(len(w.batch.changes), w.batch.since)
}
