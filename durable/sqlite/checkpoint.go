package sqlite

import (
	"context"
	"os"
	"time"
)

// maxLogSize is the size in bytes from which a log is large.
const maxLogSize = 64 << 20

// checkpoint empties the write-ahead log if it is large.
//
// SQLite itself moves the log into the file after a commit, but it begins the log again only at a
// moment without readers. If there is always one, the log grows. A checkpoint that waits for
// readers ends that: readers that come while it waits do not need the log.
// https://www.sqlite.org/wal.html#avoiding_excessively_large_wal_files
//
// The transaction was committed, so nothing here is an error of the caller's. If a reader takes
// longer, the log stays, and this is tried again, at most once in ten seconds.
func (c *Copy[T]) checkpoint(ctx context.Context) {
	if time.Now().Before(c.walAt) {
		return
	}
	info, err := os.Stat(c.db.path + "-wal")
	if err != nil || info.Size() < c.db.logSize {
		return
	}
	stop := interruptible(ctx, c.conn, time.Second)
	_ = exec(c.conn, "PRAGMA wal_checkpoint(TRUNCATE)", nil)
	stop()
	if info, err := os.Stat(c.db.path + "-wal"); err == nil && info.Size() >= c.db.logSize {
		c.walAt = time.Now().Add(10 * time.Second)
	}
}
