package cases

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/relist-go/relist/test/bench/measure"
)

// A Copier is a program that copies the objects of the load server into a file of SQLite.
type Copier interface {
	// Start opens the database, and copies until Stop is called.
	Start(ctx context.Context, ledger *Ledger) (Copying, error)
}

// Copying is what a Copier has started.
type Copying interface {
	// Ready reports whether the program knows that the copy is right, and watches. It may be called
	// at any time.
	Ready() bool
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

// Wrote notes that a change, which the server made at sent, was written in the open transaction. A
// Pod that was never changed has 0.
func (l *Ledger) Wrote(sent int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sent > 0 {
		l.open = append(l.open, sent)
	}
}

// Committed notes that the open transaction was committed. It changed so many rows, and has
// everything up to version.
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

func (l *Ledger) committed() (version uint64, rows int, lags []float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.version, l.rows, l.lags
}

// firstCopy measures a program from its start until its copy is whole. The database is empty.
func firstCopy(ctx context.Context, e *env) error {
	idle := measure.Settle()
	m := measure.Start()
	c, err := e.copied(ctx)
	if err != nil {
		return err
	}
	m.Stop(e.result)
	// The peak of resident memory, without what the process had before it started.
	peak, _ := e.result.Get(measure.PeakRSS)
	e.result.Set("peak RSS over idle, MB", peak-float64(idle)/measure.MB)
	return c.Stop()
}

// steadyCopy measures changes that the server makes 1,000 times a second.
func steadyCopy(ctx context.Context, e *env) error {
	c, err := e.copied(ctx)
	if err != nil {
		return err
	}
	measure.Settle()
	m := measure.Start()
	version, err := e.post(ctx, "change", fmt.Sprintf("count=%d&rate=1000", e.events))
	if err != nil {
		return err
	}
	err = Poll(ctx, fmt.Sprintf("the commit of version %d", version), func() bool {
		at, _, _ := e.ledger.committed()
		return at >= version
	})
	if err != nil {
		return err
	}
	wall, cpu := m.Stop(e.result)
	e.result.Set("CPU, % of a core", 100*cpu.Seconds()/wall.Seconds())
	_, _, lags := e.ledger.committed()
	if err := e.percentiles(lags); err != nil {
		return err
	}
	return c.Stop()
}

// copied starts the program, and waits until its copy is whole.
func (e *env) copied(ctx context.Context) (Copying, error) {
	c, err := e.copier.Start(ctx, e.ledger)
	if err != nil {
		return nil, err
	}
	if err := Poll(ctx, "the whole copy", c.Ready); err != nil {
		return nil, err
	}
	if _, rows, _ := e.ledger.committed(); rows < e.objects {
		return nil, fmt.Errorf("%d rows were written, want %d", rows, e.objects)
	}
	return c, nil
}
