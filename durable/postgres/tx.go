package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/relist-go/relist/durable"
)

// tx is the open transaction of a Copy.
type tx[T any] struct {
	c       *Copy[T]
	current durable.State
	list    bool

	first      bool      // of all; or somebody has dropped relist_state, so nobody knows whether the last commit wrote the history
	now        time.Time // of the transaction
	ahead      bool      // the clock was set back: the last commit is later than now
	currentAt  time.Time // when the rows came to current.Point.Version
	recorded   bool      // the last commit wrote the history, too, or there was none
	recordedTo place     // up to where the history goes
	ended      int       // how many states of the history it has ended at most
}

// place is a version, and when it was written; nil if there is none.
type place struct {
	version string
	at      *time.Time
}

var (
	errOver   = errors.New("the transaction is over")
	errIsOpen = errors.New("one is open")
)

// Begin implements [durable.Copy].
func (c *Copy[T]) Begin(ctx context.Context, current durable.State, list bool) (durable.Tx[T], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const doing = "begin a transaction in"
	if c.tx != nil {
		return nil, c.wrap(doing, errIsOpen)
	}
	t := &tx[T]{c: c, current: current, list: list, first: current.Epoch == 0 && current.Point.Version == ""}
	err := c.during(ctx, doing, t.begin)
	if err == nil && c.table.History > 0 && (t.first || t.ahead || !t.recorded) {
		err = c.wrap(doing, t.mendHistory(ctx)) // without a limit: it may have to write all rows
	}
	if err != nil {
		c.rollback(ctx)
		return nil, err
	}
	c.tx = t
	return t, nil
}

// begin makes sure that no other program writes to the copy: the first statement changes the
// state's row, and must change one.
func (t *tx[T]) begin(ctx context.Context) error {
	c := t.c
	batch := &pgx.Batch{}
	batch.Queue("begin isolation level read committed")
	if t.first {
		// The first transaction of all. If two programs come here, the second one waits for the
		// first, and is fenced.
		batch.Queue(c.sql.first, c.table.Name, c.table.Cluster)
	}
	batch.Queue(c.sql.begin, c.table.Name, c.table.Cluster, t.current.Epoch, t.current.Point.Version).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&t.now, &t.ahead, &t.currentAt, &t.recorded, &t.recordedTo.version, &t.recordedTo.at)
		if errors.Is(err, pgx.ErrNoRows) {
			return durable.ErrFenced
		}
		return err
	})
	return c.conn.SendBatch(ctx, batch).Close()
}

// maxBytes is about how much JSON is sent at once. It bounds memory: the driver copies the values,
// and its buffer grows by doubling. A batch of 4 MB waits for the server 16 times.
const maxBytes = 256 << 10

// Write implements [durable.Tx].
func (t *tx[T]) Write(ctx context.Context, changes []durable.Change[T]) error {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	const doing = "write to"
	last := make(map[string]int, len(changes)) // only the last change of a key is written; the history has them all
	for i, change := range changes {
		last[change.Meta.Key] = i
	}
	batch, size := &pgx.Batch{}, 0
	for i, change := range changes {
		n, err := t.queue(batch, change, last[change.Meta.Key] == i)
		if err != nil {
			return t.c.wrap(doing, err)
		}
		if size += n; size > maxBytes {
			if err := t.during(ctx, doing, send(t.c, batch)); err != nil {
				return err
			}
			batch, size = &pgx.Batch{}, 0
		}
	}
	return t.during(ctx, doing, send(t.c, batch))
}

// queue queues the statements of a change, and returns how many bytes its object has.
func (t *tx[T]) queue(batch *pgx.Batch, change durable.Change[T], last bool) (int, error) {
	c, meta := t.c, change.Meta
	if !last && c.table.History == 0 || change.Op != durable.Put && !storable(meta.Key) {
		return 0, nil
	}
	var object []byte
	if change.Op == durable.Put {
		var err error
		if object, err = c.encode(change.Object); err != nil {
			return 0, fmt.Errorf("encode %s: %w", meta.Key, err)
		}
	}
	if c.table.History > 0 {
		t.queueHistory(batch, change, object)
	}
	switch {
	case !last:
	case change.Op == durable.Put:
		batch.Queue(c.sql.put, c.table.Cluster, meta.Key, string(meta.UID), meta.ResourceVersion, object)
	default:
		batch.Queue(c.sql.remove, c.table.Cluster, meta.Key)
	}
	return len(object), nil
}

func send[T any](c *Copy[T], batch *pgx.Batch) func(context.Context) error {
	return func(ctx context.Context) error { return c.conn.SendBatch(ctx, batch).Close() }
}

// during is that of the Copy, if the transaction is still open.
func (t *tx[T]) during(ctx context.Context, doing string, f func(context.Context) error) error {
	if t.c.tx != t {
		return t.c.wrap(doing, errOver)
	}
	return t.c.during(ctx, doing, f)
}

// Commit implements [durable.Tx].
func (t *tx[T]) Commit(ctx context.Context, next durable.State) error {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if err := t.during(ctx, "commit to", func(ctx context.Context) error { return t.commit(ctx, next) }); err != nil {
		return err
	}
	t.c.tx, t.c.paused = nil, t.c.paused && next.Point.Version == t.current.Point.Version
	return nil
}

func (t *tx[T]) commit(ctx context.Context, next durable.State) error {
	c := t.c
	rest, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encode the state: %w", err)
	}
	at := t.currentAt
	if next.Point.Version != t.current.Point.Version {
		at = t.now
	}
	batch := &pgx.Batch{}
	if c.table.History > 0 {
		t.queueGap(batch, next)
		t.queuePrune(batch)
		t.recordedTo = place{next.Point.Version, &at}
	} else if t.recorded && t.recordedTo.at != nil {
		batch.Queue(c.sql.beginOff, c.table.Name, c.table.Cluster, t.recordedTo.version, t.recordedTo.at)
	}
	batch.Queue(c.sql.commit, c.table.Name, c.table.Cluster, next.Epoch, next.Point.Version, at, t.now, string(rest),
		c.table.History > 0, t.recordedTo.version, t.recordedTo.at)
	batch.Queue("commit")
	return c.conn.SendBatch(ctx, batch).Close()
}

// Rollback implements [durable.Tx]. If the server does not answer, the connection is closed, which
// ends the transaction, too.
func (t *tx[T]) Rollback() error {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if t.c.tx != t {
		return t.c.wrap("roll back", errOver)
	}
	t.c.rollback(context.Background())
	return nil
}
