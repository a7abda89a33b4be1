// Package mirror is the pipeline, assembled: a reflector fills a queue, a consumer empties
// it into a store, and each step is a line of a report.
//
// It is not an informer, because that hides what the command is there to show: an informer
// merges changes that wait, calls nobody for an object that a list brings unchanged, and
// drops what waits when it stops. The command prints each delta of the queue, those of
// a resync too, and applies all that has arrived before it prints its summary.
//
// Begin with Mirror.
package mirror

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/internal/visible"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// Options of a [Mirror].
type Options struct {
	// Source is where objects come from.
	Source source.ListWatcher[*listwatch.Raw]

	// Reflector are the options of the reflector, without a Trace.
	Reflector reflector.Options

	// Report is given each line, one at a time, from the reflector's goroutine or the
	// consumer's. If nil, nobody is.
	Report func(report.Line)

	// Log gets what [reflector.LogTrace] writes, and what the store refuses. If nil, nothing is
	// logged.
	Log *slog.Logger

	// FailEarly ends Run when the first list is refused for a reason that waiting will
	// not mend, such as a credential or a selector.
	FailEarly bool
}

// Mirror keeps a copy of a resource.
type Mirror struct {
	opts   Options
	report func(report.Line)
	store  *store.Store[*listwatch.Raw]
	queue  *deltafifo.Queue[*listwatch.Raw]
	source *reflector.Reflector[*listwatch.Raw]

	// FailEarly: stop ends Run, and hopeless is what it returns then. Both are used on its
	// goroutine alone.
	stop     context.CancelFunc
	hopeless error
	gaveUp   atomic.Bool

	// order is held while a list goes into the queue until its line is out, and while
	// deltas are reported: a list comes before the deltas that it brought.
	order sync.Mutex
	held  bool // order is locked for a list; owned by the reflector's goroutine

	mu      sync.Mutex
	start   time.Time
	isSync  bool
	summary report.Summary
}

// New returns a Mirror that has not started.
func New(opts Options) *Mirror {
	m := &Mirror{opts: opts, store: store.New(store.Options[*listwatch.Raw]{})}
	m.report = func(l report.Line) {
		// Who gives up says why once: with the error of Run.
		if opts.Report != nil && !m.gaveUp.Load() {
			opts.Report(l)
		}
	}
	m.queue = deltafifo.New(deltafifo.Options[*listwatch.Raw]{Known: m.store})
	rules := opts.Reflector
	rules.Trace = reflector.JoinTraces(Lines(m.report), m.trace(), m.log())
	m.source = reflector.New(opts.Source, reflector.Sink[*listwatch.Raw](sink{reflector.InQueue(m.queue), m}), rules)
	return m
}

// Store is the copy.
func (m *Mirror) Store() *store.Store[*listwatch.Raw] { return m.store }

// Pending is the number of objects with changes that have arrived and wait to be applied.
func (m *Mirror) Pending() int { return m.queue.Len() }

// Status says how fresh the copy is. Synced means that the first list is in the copy, not
// only in the queue before it. It must not be called from a function of the
// reflector's Trace.
func (m *Mirror) Status() reflector.Status {
	s := m.source.Status()
	m.mu.Lock()
	defer m.mu.Unlock()
	s.Synced = m.isSync
	return s
}

// Run mirrors until ctx ends, applies what has arrived by then, and returns nil; or the
// error for which FailEarly gave up. It is called once.
func (m *Mirror) Run(ctx context.Context) error {
	m.mu.Lock()
	m.start = time.Now()
	m.mu.Unlock()
	ctx, m.stop = context.WithCancel(ctx)
	defer m.stop()

	var consumer sync.WaitGroup
	consumer.Go(m.consume)
	// Run returns the error of ctx, which is no news here.
	_ = m.source.Run(ctx)
	m.queue.Close()
	consumer.Wait()
	return m.hopeless
}

// consume empties the queue until it is closed and nothing is left.
func (m *Mirror) consume() {
	for {
		// The context has no end: what has arrived is applied, and Run closes the queue.
		err := m.queue.Pop(context.Background(), m.process)
		switch {
		case errors.Is(err, deltafifo.ErrClosed):
			return
		case err != nil:
			m.count(func(s *report.Summary) { s.Problems++ })
			m.report(report.Problem{Class: "store", Message: err.Error()})
			if m.opts.Log != nil {
				m.opts.Log.Warn("relist: problem", "class", "store", "error", visible.OneLine(err.Error()))
			}
		}
		m.checkSynced()
	}
}

func (m *Mirror) process(e deltafifo.Entry[*listwatch.Raw]) error {
	m.order.Lock()
	defer m.order.Unlock()
	for _, d := range e.Deltas {
		before, _ := m.store.Get(e.Key) // nil if there is none
		if err := m.apply(d); err != nil {
			return err
		}
		m.countDelta(d)
		line := report.Delta{
			Type:            d.Type.String(),
			Key:             e.Key,
			UID:             d.Object.GetUID(),
			ResourceVersion: d.Object.GetResourceVersion(),
			Inferred:        d.Tombstone != nil,
			Initial:         d.Type == deltafifo.Replaced && m.isKnown(d.Object, before),
			Object:          d.Object.Bytes(),
		}
		if before != nil {
			line.Before = before.Bytes()
		}
		m.report(line)
	}
	return nil
}

// isKnown reports whether an object of a list says nothing new: it belongs to the first list, or is
// as it was.
func (m *Mirror) isKnown(o, before *listwatch.Raw) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.isSync || before != nil && before.GetUID() == o.GetUID() && before.GetResourceVersion() == o.GetResourceVersion()
}

func (m *Mirror) apply(d deltafifo.Delta[*listwatch.Raw]) error {
	if d.Type == deltafifo.Deleted {
		return m.store.Delete(d.Object)
	}
	return m.store.Update(d.Object)
}

// checkSynced reports the moment in which the first list has been applied. It is called
// after each entry, and after the first list, which may be empty.
func (m *Mirror) checkSynced() {
	if !m.queue.HasSynced() {
		return
	}
	m.mu.Lock()
	first := !m.isSync
	m.isSync = true
	took := time.Since(m.start)
	if first {
		m.summary.SyncSeconds = report.Seconds(took)
	}
	line := report.Synced{ResourceVersion: m.summary.ResourceVersion, Objects: m.store.Len(), Seconds: report.Seconds(took)}
	m.mu.Unlock()
	if first {
		m.report(line)
	}
}
