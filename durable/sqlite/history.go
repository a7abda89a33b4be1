package sqlite

import (
	"time"

	"github.com/relist-go/relist/durable"
)

// maxPruned is how many former states one commit removes: after a long pause, a commit must not
// take minutes. A commit that ends more states removes as many as it ends, so that the history does
// not grow.
const maxPruned = 1000

// record writes the state that a Put has brought, and ends the one before. A state that is the same
// version in another form, for example because the program now drops other members, replaces it.
func (t *tx[T]) record(now string, change durable.Change[T], namespace, name string, data []byte) error {
	c, meta := t.c, change.Meta
	if err := exec(c.conn, c.sql.reform, nil, c.table.Cluster, meta.Key, string(meta.UID), meta.ResourceVersion, data); err != nil {
		return err
	}
	if c.conn.Changes() > 0 {
		return nil
	}
	if err := t.end(now, change); err != nil {
		return err
	}
	return exec(c.conn, c.sql.record, nil, c.table.Cluster, meta.Key, namespace, name, string(meta.UID), meta.ResourceVersion, now, data)
}

// end ends the present state of a key. The version is known if the change came as an event: then
// nothing was in between.
func (t *tx[T]) end(now string, change durable.Change[T]) error {
	var version any
	if !t.list && (change.Op == durable.Put || change.Op == durable.Deleted) {
		version = change.Meta.ResourceVersion
	}
	err := exec(t.c.conn, t.c.sql.end, nil, t.c.table.Cluster, change.Meta.Key, now, version, change.Op.String(), string(change.Meta.UID))
	t.ended += t.c.conn.Changes()
	return err
}

// recordGap writes down what the history does not know. Three kinds:
//
//   - list: states between two versions may be missing, because a list has brought the later one.
//   - pause: no state is missing, but nobody watched for a while. Changes of that time have the time at which they were seen.
//   - off: the copy was written without a history, see tx.commit and recordAgain.
func (t *tx[T]) recordGap(next durable.State, now string) error {
	from, to := t.current.Point.Version, next.Point.Version
	switch {
	case from == to && from != "" && t.list && t.ended > 0: // the list found an object that could not be read before, or another history
		return t.addGap("list", place{from, t.currentAt}, to, now)
	case from == to: // nothing was learned, or the gap stays open
		return nil
	case to == "": // a list begins, in several transactions
		return t.addGap("list", place{from, t.currentAt}, nil, nil)
	case from == "": // it ends. The very first one has not been written down when it began
		closed, err := t.closeGaps(to, now)
		if err != nil || closed > 0 {
			return err
		}
		return t.addGap("list", place{}, to, now)
	case t.list:
		return t.addGap("list", place{from, t.currentAt}, to, now)
	case t.c.paused:
		return t.addGap("pause", place{from, t.currentAt}, to, now)
	}
	return nil
}

// clamp makes times that are later than now the present one, because the clock was set back.
// Otherwise such states would stay until the clock comes there again, and all that follow would
// have the same time.
func (t *tx[T]) clamp() error {
	c := t.c
	for _, statement := range c.sql.clamp {
		if err := exec(c.conn, statement, nil, c.table.Cluster, t.began); err != nil {
			return err
		}
	}
	for _, statement := range []string{
		"UPDATE relist_gaps SET from_time = min(from_time, ?3), to_time = ?3 WHERE table_name = ?1 AND cluster = ?2 AND to_time > ?3",
		"UPDATE relist_gaps SET from_time = ?3 WHERE table_name = ?1 AND cluster = ?2 AND to_time IS NULL AND from_time > ?3",
	} {
		if err := exec(c.conn, statement, nil, c.table.Name, c.table.Cluster, t.began); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx[T]) closeGaps(version, now string) (closed int, err error) {
	c := t.c
	err = exec(c.conn, `UPDATE relist_gaps SET to_version = ?, to_time = ? WHERE table_name = ? AND cluster = ? AND to_time IS NULL`,
		nil, version, now, c.table.Name, c.table.Cluster)
	return c.conn.Changes(), err
}

func (t *tx[T]) addGap(kind string, from place, toVersion, toTime any) error {
	return exec(t.c.conn, `INSERT INTO relist_gaps (table_name, cluster, kind, from_version, from_time, to_version, to_time) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		nil, t.c.table.Name, t.c.table.Cluster, kind, from.version, from.at, toVersion, toTime)
}

// recordAgain makes the present states of the history those of the rows, after transactions that
// wrote no history.
func (t *tx[T]) recordAgain() error {
	c, now := t.c, t.now()
	if err := exec(c.conn, c.sql.endUnrecorded, nil, c.table.Cluster, now); err != nil {
		return err
	}
	if err := exec(c.conn, c.sql.recordRows, nil, c.table.Cluster, now); err != nil || t.recorded {
		return err
	}
	t.recorded = true
	// If there was no history at all before, the gap has not been written down when it began.
	if err := t.beginOff(); err != nil || t.current.Point.Version == "" { // without a version, it lasts until the list ends
		return err
	}
	_, err := t.closeGaps(t.current.Point.Version, now)
	return err
}

// beginOff writes down that from here on there is no history, unless that was written already.
func (t *tx[T]) beginOff() error {
	c := t.c
	return exec(c.conn, `INSERT INTO relist_gaps (table_name, cluster, kind, from_version, from_time) SELECT ?1, ?2, 'off', ?3, ?4
		WHERE NOT EXISTS (SELECT 1 FROM relist_gaps WHERE table_name = ?1 AND cluster = ?2 AND kind = 'off' AND to_time IS NULL)`,
		nil, c.table.Name, c.table.Cluster, t.recordedTo.version, t.recordedTo.at)
}

// prune removes some of what is older than the retention.
func (t *tx[T]) prune() error {
	c := t.c
	before := time.Now().UTC().Add(-c.table.History).Format(timeFormat)
	if err := exec(c.conn, c.sql.prune, nil, c.table.Cluster, before, max(maxPruned, t.ended)); err != nil {
		return err
	}
	return exec(c.conn, `DELETE FROM relist_gaps WHERE rowid IN
		(SELECT rowid FROM relist_gaps WHERE table_name = ? AND cluster = ? AND to_time < ? ORDER BY to_time LIMIT ?)`,
		nil, c.table.Name, c.table.Cluster, before, maxPruned)
}
