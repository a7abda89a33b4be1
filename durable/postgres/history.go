package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/relist-go/relist/durable"
)

// queueHistory writes the state that a change has brought, and ends the one before.
func (t *tx[T]) queueHistory(batch *pgx.Batch, change durable.Change[T], object []byte) {
	c, meta := t.c, change.Meta
	uid, version := string(meta.UID), meta.ResourceVersion
	if change.Op == durable.Put {
		batch.Queue(c.sql.reform, c.table.Cluster, meta.Key, uid, version, object)
	}
	var ended *string // it is known if the change came as an event: then nothing was in between
	if !t.list && (change.Op == durable.Put || change.Op == durable.Deleted) {
		ended = &version
	}
	t.ended++
	batch.Queue(c.sql.end, c.table.Cluster, meta.Key, t.now, change.Op.String(), uid, version, ended)
	if change.Op == durable.Put {
		batch.Queue(c.sql.record, c.table.Cluster, meta.Key, uid, version, object, t.now)
	}
}

// queueGap writes down what the history does not know. Three kinds:
//
//   - list: states between two versions may be missing, because a list has brought the later one.
//   - pause: no state is missing, but nobody watched for a while. Changes of that time have the time at which they were seen.
//   - off: the copy was written without a history, see tx.commit and mendHistory.
func (t *tx[T]) queueGap(batch *pgx.Batch, next durable.State) {
	from, to := t.current.Point.Version, next.Point.Version
	switch {
	case from == to && from != "" && t.list && t.ended > 0: // the list found an object that could not be read before, or another history
		t.addGap(batch, "list", place{from, &t.currentAt}, &to, &t.now)
	case from == to: // nothing was learned, or the gap stays open
	case to == "": // a list begins, in several transactions
		t.addGap(batch, "list", place{from, &t.currentAt}, nil, nil)
	case from == "": // it ends
		batch.Queue(t.c.sql.endList, t.c.table.Name, t.c.table.Cluster, to, t.now)
	case t.list:
		t.addGap(batch, "list", place{from, &t.currentAt}, &to, &t.now)
	case t.c.paused:
		t.addGap(batch, "pause", place{from, &t.currentAt}, &to, &t.now)
	}
}

func (t *tx[T]) addGap(batch *pgx.Batch, kind string, from place, to *string, at *time.Time) {
	batch.Queue(t.c.sql.addGap, t.c.table.Name, t.c.table.Cluster, kind, from.version, from.at, to, at)
}

// mendHistory corrects the history at the beginning of a transaction.
//
// After transactions that wrote no history, the present states become those of the rows. If the
// clock was set back, nothing can have been seen later than now: otherwise such states would stay
// until the clock comes there again.
func (t *tx[T]) mendHistory(ctx context.Context) error {
	c, batch := t.c, &pgx.Batch{}
	for _, setting := range wholeTables { // these read all present states, or all rows
		batch.Queue("SET LOCAL " + setting + " = on")
	}
	batch.Queue(c.sql.clampFormer, c.table.Cluster, t.now)
	batch.Queue(c.sql.clampPresent, c.table.Cluster, t.now)
	batch.Queue(c.sql.clampEndedGaps, c.table.Cluster, t.now, c.table.Name)
	batch.Queue(c.sql.clampGaps, c.table.Cluster, t.now, c.table.Name)
	if t.first || !t.recorded {
		batch.Queue(c.sql.endUnrecorded, c.table.Cluster, t.now)
		batch.Queue(c.sql.recordRows, c.table.Cluster, t.now)
	}
	if !t.recorded {
		// If there was no history at all before, the gap has not been written down when it began.
		// Without a version, it lasts until the list ends.
		batch.Queue(c.sql.beginOff, c.table.Name, c.table.Cluster, t.recordedTo.version, t.recordedTo.at)
		if version := t.current.Point.Version; version != "" {
			batch.Queue(c.sql.endGaps, c.table.Name, c.table.Cluster, version, t.now)
		}
	}
	for _, setting := range wholeTables {
		batch.Queue("SET LOCAL " + setting + " = off")
	}
	return c.conn.SendBatch(ctx, batch).Close()
}

// pruneEvery is how often a copy looks for former states that are older than the retention.
const pruneEvery = time.Minute

// maxPruned is how many former states one commit removes: after a long pause, a commit must not
// take minutes. If there are more, the next commit continues. A commit that ends more states
// removes as many as it ends, so that the history does not grow.
const maxPruned = 5000

// queuePrune removes some of what is older than the retention.
func (t *tx[T]) queuePrune(batch *pgx.Batch) {
	c := t.c
	if now := time.Now(); now.Sub(c.pruned) >= min(c.table.History, pruneEvery) {
		before := t.now.Add(-c.table.History)
		most := max(maxPruned, t.ended)
		batch.Queue(c.sql.prune, c.table.Cluster, before, most).Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() < int64(most) {
				c.pruned = now
			}
			return nil
		})
		batch.Queue(c.sql.pruneGaps, c.table.Name, c.table.Cluster, before)
	}
}
