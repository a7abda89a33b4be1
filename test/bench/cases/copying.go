package cases

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/relist-go/relist/test/bench/measure"
)

// Database is where a program copies objects to.
type Database uint8

// The databases.
const (
	NoDatabase Database = iota
	SQLite
	Postgres
)

// A Copier is a program that copies the objects of the load server into a database.
type Copier interface {
	// Start opens the database, and copies until Stop is called. It may be called again after that.
	Start(ctx context.Context, ledger *Ledger) (Copying, error)
}

// Copying is what a Copier has started. Ready and Version may be called at any time.
type Copying interface {
	// Ready reports whether the program knows that the copy is right, and watches.
	Ready() bool
	// Version is a resourceVersion: the program has received everything up to it.
	Version() uint64
	// Stop ends the program's work, and closes the database.
	Stop() error
}

// A Ledger notes what a Copier commits.
type Ledger struct {
	mu      sync.Mutex
	open    []int64   // when the changes of the open transaction were made, in nanoseconds since 1970
	lags    []float64 // from the change to the commit, in milliseconds
	version uint64    // the highest that was committed
	rows    int
}

// Wrote notes that a change, which the server made at sent, was written in the open transaction.
func (l *Ledger) Wrote(sent int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sent > 0 {
		l.open = append(l.open, sent)
	}
}

// Committed notes that the open transaction was committed. It changed so many rows, and has everything up to version.
func (l *Ledger) Committed(version uint64, rows int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now().UnixNano()
	for _, sent := range l.open {
		l.lags = append(l.lags, float64(now-sent)/1e6)
	}
	l.open = l.open[:0]
	l.version = max(l.version, version)
	l.rows += rows
}

func (l *Ledger) committed() (version uint64, rows int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.version, l.rows
}

// takeLags returns the lags, and forgets them.
func (l *Ledger) takeLags() []float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	lags := l.lags
	l.lags = nil
	return lags
}

// The metrics of a copy. OverIdle is the peak of resident memory, without what the process has before it starts.
const (
	OverIdle    = "peak RSS over idle, MB"
	cpuShare    = "CPU, % of a core"
	serverCPU   = "CPU of the database, s"
	rowsWritten = "rows written"
	requests    = "requests"
	listed      = "objects listed"
	listWall    = "wall from the request of the list, s"
)

// firstCopy measures a program from its start until its copy is whole. The database is empty.
func firstCopy(ctx context.Context, e *env) error {
	idle := measure.Settle()
	m := e.meter()
	c, err := e.copier.Start(ctx, e.ledger)
	if err != nil {
		return err
	}
	if err := e.awaitReady(ctx, c); err != nil {
		return err
	}
	m.stop()
	e.overIdle(idle)
	return c.Stop()
}

// steadyCopy measures changes that the server makes 1,000 times a second.
func steadyCopy(ctx context.Context, e *env) error {
	c, err := e.copied(ctx)
	if err != nil {
		return err
	}
	measure.Settle()
	e.ledger.takeLags()
	m := e.meter()
	version, err := e.post(ctx, "change", fmt.Sprintf("count=%d&rate=1000", e.events))
	if err != nil {
		return err
	}
	if err := e.awaitCommit(ctx, version); err != nil {
		return err
	}
	wall, cpu := m.stop()
	e.result.Set(cpuShare, 100*cpu.Seconds()/wall.Seconds())
	if err := e.percentiles(e.ledger.takeLags()); err != nil {
		return err
	}
	return c.Stop()
}

// restart measures a program that starts while its copy is whole, and nothing has changed.
func restart(ctx context.Context, e *env) error {
	c, err := e.copied(ctx)
	if err != nil {
		return err
	}
	if err := c.Stop(); err != nil {
		return err
	}
	idle := measure.Settle()
	began, err := e.counts(ctx)
	if err != nil {
		return err
	}
	_, rows := e.ledger.committed()
	m := e.meter()
	if c, err = e.copier.Start(ctx, e.ledger); err != nil {
		return err
	}
	if err := e.awaitReady(ctx, c); err != nil {
		return err
	}
	m.stop()
	e.overIdle(idle)
	// What the program asks a moment later belongs to its start.
	if err := settle(ctx); err != nil {
		return err
	}
	return e.since(ctx, c, began, rows)
}

// relistCopy measures a list after 410, if nothing has changed.
func relistCopy(ctx context.Context, e *env) error {
	c, err := e.copied(ctx)
	if err != nil {
		return err
	}
	idle := measure.Settle()
	began, err := e.counts(ctx)
	if err != nil {
		return err
	}
	_, rows := e.ledger.committed()
	m := e.meter()
	version, err := e.post(ctx, "expire", "count=0")
	if err != nil {
		return err
	}
	if err := poll(ctx, fmt.Sprintf("a list at version %d", version), func() bool { return c.Version() >= version }); err != nil {
		return err
	}
	// One object changes. When that is committed, everything before it is.
	if version, err = e.post(ctx, "change", "count=1"); err != nil {
		return err
	}
	if err := e.awaitCommit(ctx, version); err != nil {
		return err
	}
	m.stop()
	ended := time.Now()
	e.overIdle(idle)
	listedAt, err := e.post(ctx, "listed-at", "count=0")
	if err != nil {
		return err
	}
	e.result.Set(listWall, ended.Sub(time.Unix(0, int64(listedAt))).Seconds()) //nolint:gosec // the server has sent a time
	return e.since(ctx, c, began, rows+1)
}

// copied starts the program, and waits until its copy is whole.
func (e *env) copied(ctx context.Context) (Copying, error) {
	c, err := e.copier.Start(ctx, e.ledger)
	if err != nil {
		return nil, err
	}
	if err := e.awaitReady(ctx, c); err != nil {
		return nil, err
	}
	if _, rows := e.ledger.committed(); rows < e.objects {
		return nil, fmt.Errorf("%d rows were written, want %d", rows, e.objects)
	}
	return c, nil
}

func (e *env) awaitReady(ctx context.Context, c Copying) error {
	return poll(ctx, "the whole copy", c.Ready)
}

func (e *env) awaitCommit(ctx context.Context, version uint64) error {
	return poll(ctx, fmt.Sprintf("the commit of version %d", version), func() bool {
		at, _ := e.ledger.committed()
		return at >= version
	})
}

// poll waits until f is true. Not all that is waited for has a signal.
func poll(ctx context.Context, what string, f func() bool) error {
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for !f() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waited for %s: %w", what, ctx.Err())
		}
	}
	return nil
}

// counts are what the load server has been asked for.
type counts struct{ requests, listed uint64 }

func (e *env) counts(ctx context.Context) (c counts, err error) {
	if c.requests, err = e.post(ctx, "asked", "count=0"); err == nil {
		c.listed, err = e.post(ctx, "listed", "count=0")
	}
	return c, err
}

// since sets what was asked and written since a moment, and stops the program.
func (e *env) since(ctx context.Context, c Copying, began counts, rows int) error {
	now, err := e.counts(ctx)
	if err != nil {
		return err
	}
	_, written := e.ledger.committed()
	e.result.Set(requests, float64(now.requests-began.requests))
	e.result.Set(listed, float64(now.listed-began.listed))
	e.result.Set(rowsWritten, float64(written-rows))
	return c.Stop()
}

// overIdle sets how far the peak is above what was resident before.
func (e *env) overIdle(idle uint64) {
	peak, _ := e.result.Get(measure.PeakRSS)
	e.result.Set(OverIdle, peak-float64(idle)/measure.MB)
}

// meter is a measure.Meter that measures the server of the database, too, if it has one.
type meter struct {
	*measure.Meter
	env    *env
	server time.Duration
}

func (e *env) meter() meter {
	m := meter{env: e}
	if e.access.DatabasePID != 0 {
		m.server = measure.ProcessesCPU(e.access.DatabasePID)
	}
	m.Meter = measure.Start()
	return m
}

func (m meter) stop() (wall, cpu time.Duration) {
	wall, cpu = m.Stop(m.env.result)
	if pid := m.env.access.DatabasePID; pid != 0 {
		m.env.result.Set(serverCPU, (measure.ProcessesCPU(pid) - m.server).Seconds())
	}
	return wall, cpu
}

// Version parses a resourceVersion of the load server.
func Version(s string) uint64 {
	version, _ := strconv.ParseUint(s, 10, 64) // 0 before the first list
	return version
}
