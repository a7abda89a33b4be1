package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	driver "zombiezen.com/go/sqlite"

	"github.com/relist-go/relist/durable"
)

// tx is the open transaction of a Copy.
type tx[T any] struct {
	c       *Copy[T]
	current durable.State
	list    bool
	failed  bool // SQLite may have rolled it back, so nothing more is written

	first      bool   // of all; or somebody has dropped relist_state, so nobody knows whether the last commit wrote the history
	began      string // when it began
	currentAt  string // when the rows came to current.Point.Version
	committed  string // the last commit
	recorded   bool   // that commit wrote the history, too, or there was none
	recordedTo place  // up to where the history goes
	ended      int    // how many states of the history it has ended
}

// place is a version, and when it was written.
type place struct{ version, at string }

var errOver = errors.New("sqlite: the transaction is over")

// timeFormat has the same length for every time, so that the order of texts is that of times.
// SQLite's own functions read it.
const timeFormat = "2006-01-02T15:04:05.000Z"

// begin makes sure that no other program writes to the copy: the first statement changes the
// state's row, and must change one.
func (t *tx[T]) begin() error {
	c := t.c
	t.first, t.recorded, t.began = true, true, clock()
	err := exec(c.conn, `UPDATE relist_state SET epoch = epoch WHERE table_name = ? AND cluster = ? AND epoch = ? AND version = ?
		RETURNING current_at, committed, recorded, recorded_version, recorded_at`, func(s *driver.Stmt) {
		t.first = false
		t.currentAt, t.committed, t.recorded = s.ColumnText(0), s.ColumnText(1), s.ColumnBool(2)
		t.recordedTo = place{s.ColumnText(3), s.ColumnText(4)}
	}, c.table.Name, c.table.Cluster, t.current.Epoch, t.current.Point.Version)
	if err != nil {
		return err
	}
	if t.first {
		if t.current.Epoch != 0 || t.current.Point.Version != "" {
			return t.fenced()
		}
		// The first transaction of all. If two programs come here, the second one waits for the
		// first, and is fenced here.
		err := exec(c.conn, `INSERT INTO relist_state
			(table_name, cluster, epoch, version, current_at, committed, state, recorded, recorded_version, recorded_at)
			VALUES (?, ?, 0, '', '', '', '', 1, '', '') ON CONFLICT DO NOTHING`, nil, c.table.Name, c.table.Cluster)
		if err != nil {
			return err
		}
		if c.conn.Changes() == 0 {
			return t.fenced()
		}
	}
	ahead := t.committed > t.began
	t.currentAt, t.committed, t.recordedTo.at = min(t.currentAt, t.began), min(t.committed, t.began), min(t.recordedTo.at, t.began)
	if c.table.History == 0 || !t.first && !ahead && t.recorded {
		return nil
	}
	if err := t.clamp(); err != nil || !t.first && t.recorded {
		return err
	}
	return t.recordAgain()
}

func (t *tx[T]) fenced() error {
	return fmt.Errorf("sqlite: %s: table %s, cluster %q: %w", t.c.db.path, t.c.table.Name, t.c.table.Cluster, durable.ErrFenced)
}

// now returns the time as it is written. It is never before the transaction began, even if the
// clock is set back, so that states of the history do not overlap.
func (t *tx[T]) now() string { return max(clock(), t.began) }

func clock() string { return time.Now().UTC().Format(timeFormat) }

// during is that of the Copy, if the transaction is still open.
func (t *tx[T]) during(ctx context.Context, doing string, f func() error) error {
	if t.c.tx != t || t.failed {
		return errOver
	}
	err := t.c.during(ctx, doing, noLimit, f)
	t.failed = err != nil
	return err
}

// Write implements [durable.Tx].
func (t *tx[T]) Write(ctx context.Context, changes []durable.Change[T]) error {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	now := t.now()
	return t.during(ctx, "write to", func() error {
		for _, change := range changes {
			if err := t.write(now, change); err != nil {
				return fmt.Errorf("%s %s: %w", change.Op, change.Meta.Key, err)
			}
		}
		return nil
	})
}

func (t *tx[T]) write(now string, change durable.Change[T]) error {
	c, meta := t.c, change.Meta
	if change.Op != durable.Put {
		if err := exec(c.conn, c.sql.remove, nil, c.table.Cluster, meta.Key); err != nil {
			return err
		}
		if c.conn.Changes() == 0 || c.table.History == 0 {
			return nil
		}
		return t.end(now, change)
	}
	namespace, name, found := strings.Cut(meta.Key, "/")
	if !found {
		namespace, name = "", meta.Key
	}
	data, err := c.encode(change.Object)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	// A row that is the same is not written. An ON CONFLICT with a WHERE would do, too, but it
	// computes the columns first.
	same := false
	err = exec(c.conn, c.sql.same, func(s *driver.Stmt) {
		same = s.ColumnText(0) == string(meta.UID) && s.ColumnText(1) == meta.ResourceVersion && s.ColumnText(2) == string(data)
	}, c.table.Cluster, meta.Key)
	if err != nil || same {
		return err
	}
	err = exec(c.conn, c.sql.put, nil, c.table.Cluster, meta.Key, namespace, name, string(meta.UID), meta.ResourceVersion, data)
	if err != nil || c.table.History == 0 {
		return err
	}
	return t.record(now, change, namespace, name, data)
}

// Commit implements [durable.Tx].
func (t *tx[T]) Commit(ctx context.Context, next durable.State) error {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if err := t.during(ctx, "commit to", func() error { return t.commit(next) }); err != nil {
		return err
	}
	t.c.tx, t.c.paused = nil, t.c.paused && next.Point.Version == t.current.Point.Version
	t.c.checkpoint(ctx)
	return nil
}

func (t *tx[T]) commit(next durable.State) error {
	c, now := t.c, t.now()
	rest, err := json.Marshal(next, jsontext.AllowInvalidUTF8(true)) // the key of an unsure key is what a server has sent
	if err != nil {
		return fmt.Errorf("encode the state: %w", err)
	}
	at := t.currentAt
	if next.Point.Version != t.current.Point.Version {
		at = now
	}
	recorded := 0
	if c.table.History > 0 {
		recorded = 1
		if err := t.recordGap(next, now); err != nil {
			return err
		}
		if err := t.prune(); err != nil {
			return err
		}
		t.recordedTo = place{next.Point.Version, at}
	} else if t.recorded && !t.first {
		if err := t.beginOff(); err != nil {
			return err
		}
	}
	committed := now
	if next.Epoch != t.current.Epoch && t.committed != "" {
		committed = t.committed // opening the copy says nothing about its rows: a program that opens it again and again and writes nothing must not look alive
	}
	err = exec(c.conn, `UPDATE relist_state SET epoch = ?, version = ?, current_at = ?, committed = ?, state = ?,
		recorded = ?, recorded_version = ?, recorded_at = ? WHERE table_name = ? AND cluster = ?`, nil,
		next.Epoch, next.Point.Version, at, committed, string(rest),
		recorded, t.recordedTo.version, t.recordedTo.at, c.table.Name, c.table.Cluster)
	if err != nil {
		return err
	}
	return exec(c.conn, "COMMIT", nil)
}

// Rollback implements [durable.Tx].
func (t *tx[T]) Rollback() error {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if t.c.tx != t {
		return errOver
	}
	t.c.tx = nil
	rollback(t.c.conn)
	if !t.c.conn.AutocommitEnabled() {
		t.c.failed = true // Load makes a new connection
		return fmt.Errorf("sqlite: %s: the transaction cannot be rolled back", t.c.db.path)
	}
	return nil
}
