package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrLeadLost is the cause of the end of the context that [DB.Lead] passes on, if its connection
// has ended.
var ErrLeadLost = errors.New("the connection that holds the lock of the schema has ended")

// standbyPause is how often a standby asks for the lock. It does not wait in the server: a
// statement that waits is a transaction, and as long as there is one, vacuum removes no row of the
// whole database.
const standbyPause = time.Second

// watchPause is how often a leader asks whether its connection works.
const watchPause = 5 * time.Second

// Lead waits until no other program leads, and calls run. So a second replica of a program can
// wait, and take over when the first one ends or loses its connection. If the connection is lost
// while run works, the context of run ends; Lead returns what run returns, or the error of the
// connection. A connection that is lost while Lead waits is made again.
//
// The lock saves work, and nothing depends on it: if two programs lead for a moment, the one that
// opened its copies first gets [durable.ErrFenced]. It is one lock for the schema, an advisory lock
// of a session.
func (db *DB) Lead(ctx context.Context, run func(context.Context) error) error {
	conn, err := db.lock(ctx)
	if err != nil {
		return db.wrap("lead", err)
	}
	leading, stop := context.WithCancelCause(ctx)
	watched := make(chan error, 1)
	go func() {
		err := db.watchLock(leading, conn)
		if err != nil {
			stop(ErrLeadLost)
		}
		watched <- err
	}()
	err = run(leading)
	stop(nil)
	lost := <-watched
	closeConn(ctx, conn) // this gives the lock back
	if lost == nil {
		return err
	}
	lost = fmt.Errorf("%w: %w", ErrLeadLost, lost)
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, ErrLeadLost) { // else run says only that its context has ended
		lost = fmt.Errorf("%w; meanwhile: %w", lost, err)
	}
	return db.wrap("lead", lost)
}

func (db *DB) lock(ctx context.Context) (*pgx.Conn, error) {
	var conn *pgx.Conn
	for first := true; ; first = false {
		held, err := db.tryLock(ctx, &conn)
		if held {
			return conn, nil
		}
		if err != nil && (first || ctx.Err() != nil) { // the first time, it is more likely wrong than away
			if conn != nil {
				closeConn(ctx, conn)
			}
			return nil, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(standbyPause):
		}
	}
}

// tryLock asks for the lock, on a new connection if there is none.
func (db *DB) tryLock(ctx context.Context, conn **pgx.Conn) (held bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, context.Cause(ctx)
	}
	timed, cancel := db.timed(ctx)
	defer cancel()
	if *conn == nil || (*conn).IsClosed() {
		*conn = nil
		made, err := db.connect(timed)
		if err != nil {
			return false, err
		}
		*conn = made
	}
	err = (*conn).QueryRow(timed, `SELECT pg_try_advisory_lock($1)`, lockNumber("lead", db.opts.Schema)).Scan(&held)
	return held, err
}

// watchLock returns an error when the connection has ended, and nil when ctx has.
func (db *DB) watchLock(ctx context.Context, conn *pgx.Conn) error {
	for ctx.Err() == nil {
		// A notification never comes: this reads, so that the end of the connection is seen at
		// once.
		idle, cancel := context.WithTimeout(ctx, watchPause)
		ended := conn.PgConn().WaitForNotification(idle)
		cancel()
		if conn.IsClosed() && ctx.Err() == nil {
			return ended
		}
		timed, cancel := db.timed(ctx)
		_, err := conn.Exec(timed, "SELECT")
		cancel()
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}
