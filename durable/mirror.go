package durable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/relist-go/relist/internal/goexit"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
)

// Mirror keeps a [Copy] in step with a resource of an API server.
//
// It has no memory of its own that matters. If a call of the Copy fails, the Mirror drops
// everything that is not committed, and continues from the last commit after a delay, as a new
// process would: it loads the state, and resumes the watch there. So it does the same for a
// database that was away, for a commit whose outcome nobody knows, and for a program that was
// killed.
//
// An object that the database cannot store must not get into a transaction, because a later try
// would fail, too. Refuse it in the Transform of the [listwatch.Options]: then it is in quarantine,
// its key is among the unsure keys of the point, and everything else goes on.
type Mirror[T object.Object] struct {
	lw   source.ListWatcher[T]
	copy Copy[T]
	opts Options

	running sync.Mutex // held by Run
	claim   *claim     // of this Run; owned by Run
	loaded  bool       // claim knows the state; owned by Run
	opened  int64      // the epoch at which this Run has opened the copy last; 0 if it has not
	board   board[T]
}

// Options of a [Mirror]. Stream is required; otherwise the zero value is ready.
type Options struct {
	// Stream says what the copy is of.
	Stream Stream

	// Identify asks which cluster answers, as [ClusterUID] does. The Mirror calls Identify before
	// it writes the first row of a list, and before it commits events that came after an outage,
	// because another server may answer since. If the answer is not Stream.Cluster, Run returns a
	// [*MismatchError], because somebody has made another cluster under the same address. If
	// Identify returns an error, the Mirror opens the copy again after a delay. If Identify is nil,
	// the Mirror takes every server for one of the same cluster, for example for a restored backup.
	Identify func(ctx context.Context) (string, error)

	// Reflector configures how the resource is listed and watched. Start is not used: the copy
	// knows where to begin. With Initial set to reflector.Streaming, the first state is collected
	// in memory before it is written; lists are not.
	Reflector reflector.Options

	// BatchRows is the number of changes after which a transaction is committed. Changes that came
	// together are not divided, so a transaction may have some more. A list is one transaction of
	// any size, unless the copy has no version: then its transactions are bounded, too. If zero or
	// negative, 500 is used.
	//
	// A transaction is also committed if its objects have 4 MiB, as far as they have a method
	// Size() int, as listwatch.Raw has.
	//
	// As long as it is not known whether the server is the same as before, changes wait. If it is
	// another server, only the last commit is right. If more than 20 batches wait, they are
	// committed without a version. If the program is then restarted, it begins with a list.
	BatchRows int

	// BatchDelay is how long the first change of a transaction may wait for its commit. If zero,
	// 100 ms are used. If negative, the events that came together are committed at once.
	BatchDelay time.Duration

	// Logger gets lines about what happens, as that of informer.Options does. If nil,
	// slog.Default().
	Logger *slog.Logger

	// Trace has the functions that are called when something happens. It may be nil.
	Trace *Trace
}

// The defaults of [Options].
const (
	defaultBatchRows  = 500
	defaultBatchDelay = 100 * time.Millisecond
)

// The delays after a failure of the copy: the first, and the longest. Each delay is twice as long
// as the one before. Jitter then makes it shorter, by up to half.
const (
	firstDelay   = 100 * time.Millisecond
	longestDelay = 30 * time.Second
)

// lastCommit is how long Run may take to commit what it has when its context ends.
const lastCommit = 10 * time.Second

// ErrRunning is returned by a second [Mirror.Run] while the first still runs.
var ErrRunning = errors.New("durable: Run was called while the mirror runs")

// New returns a Mirror that has not started. It returns an error if opts.Stream lacks the cluster
// or the resource.
func New[T object.Object](lw source.ListWatcher[T], to Copy[T], opts Options) (*Mirror[T], error) {
	switch {
	case opts.Stream.Cluster == "":
		return nil, errors.New("durable: Options.Stream.Cluster is empty: a copy must say which cluster it is of, see ClusterUID")
	case opts.Stream.Resource == "" || opts.Stream.Version == "":
		return nil, errors.New("durable: Options.Stream must have the resource and its version, see StreamOf")
	}
	if opts.BatchRows <= 0 {
		opts.BatchRows = defaultBatchRows
	}
	opts.BatchDelay = cmp.Or(opts.BatchDelay, defaultBatchDelay)
	opts.Logger = cmp.Or(opts.Logger, slog.Default())
	opts.Reflector.Trace = reflector.JoinTraces(reflector.LogTrace(opts.Logger), opts.Reflector.Trace)
	opts.Trace = opts.Trace.withLog(opts.Stream.logger(opts.Logger))
	return &Mirror[T]{lw: lw, copy: to, opts: opts}, nil
}

// Run opens the copy, and keeps it in step until ctx ends. It then commits what it has, within 10
// seconds, and returns ctx.Err(). It returns before that
//
//   - with an error that is [ErrFenced], if another program has opened the copy. If only the version was changed, because somebody
//     has dropped a table for example, Run opens the copy again, and continues;
//   - with a [*MismatchError], if the copy is of another cluster or another resource, see Options.Identify;
//   - with a [*reflector.OutageError], if Options.Reflector.Fatal says so;
//   - with an error that says so, if the copy or another part of the program calls runtime.Goexit, as t.FailNow does.
//
// Any other error of the copy is told to Trace, and Run tries again after a delay. Run may be
// called again after it has returned.
//
// Run several mirrors of one program by [RunAll].
func (m *Mirror[T]) Run(ctx context.Context) error { return m.run(ctx, newClaim(1)) }

func (m *Mirror[T]) run(ctx context.Context, c *claim) error {
	return goexit.Call(func() error { return m.keep(ctx, c) })
}

// keep is Run, on a goroutine that a function of the program may end.
func (m *Mirror[T]) keep(ctx context.Context, c *claim) error {
	if !m.running.TryLock() {
		return ErrRunning
	}
	defer m.running.Unlock()
	m.claim, m.loaded, m.opened = c, false, 0
	pause := firstDelay
	for {
		began := m.board.commits()
		err := m.session(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, ErrFenced) && m.opened > 0 {
			err = m.whoFenced(ctx, err)
		}
		var mismatch *MismatchError
		var outage *reflector.OutageError
		if errors.Is(err, ErrFenced) || errors.As(err, &mismatch) || errors.As(err, &outage) || errors.Is(err, goexit.Err) {
			return err
		}
		if m.board.commits() > began {
			pause = firstDelay
		}
		wait := pause - time.Duration(mathrand.Int64N(int64(pause)/2))
		m.board.failed(err, time.Now())
		m.opts.Trace.Failed(Failure{Err: err, Delay: wait})
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		pause = min(2*pause, longestDelay)
	}
}

// session opens the copy, and keeps it in step until something fails.
func (m *Mirror[T]) session(ctx context.Context) error {
	state, err := m.open(ctx, m.opts.Stream)
	if err != nil {
		return err
	}
	runCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &writer[T]{mirror: m, ctx: runCtx, cancel: cancel, state: state, batch: newBatch[T](), expected: map[string]object.Meta{}}
	opts := m.opts.Reflector
	opts.Start = state.Point
	r := reflector.New(m.lw, w, opts)
	m.board.opened(r, state)
	m.opts.Trace.Opened(state)
	defer w.stop()
	if err := r.Run(runCtx); runCtx.Err() == nil {
		return err
	}
	if ctx.Err() != nil {
		last, done := context.WithTimeout(context.WithoutCancel(ctx), lastCommit)
		defer done()
		w.finish(last)
		return ctx.Err()
	}
	return context.Cause(runCtx)
}

// open loads the state, and makes this Mirror the one that writes, unless a program with a higher
// claim does. Another Mirror may commit after the load and before this Mirror's own commit. Then
// open tries again.
func (m *Mirror[T]) open(ctx context.Context, stream Stream) (State, error) {
	old, err := m.load(ctx)
	if err != nil {
		return State{}, err
	}
	if !m.loaded {
		m.loaded = true
		if err := m.claim.loaded(ctx, old); err != nil {
			return State{}, err
		}
	}
	for {
		if m.claim.beatenBy(old) {
			return State{}, fmt.Errorf("open the copy of %s: %w", m.opts.Stream, ErrFenced)
		}
		next, err := old.openedFor(stream, m.claim)
		if err != nil {
			return State{}, err
		}
		failed := m.commit(ctx, old, next)
		if failed == nil {
			m.opened = next.Epoch
			return next, nil
		}
		before := old
		if errors.Is(failed, ErrFenced) {
			if old, err = m.load(ctx); err != nil {
				return State{}, err
			}
		}
		if old.Epoch == before.Epoch && old.Point.Version == before.Point.Version {
			return State{}, fmt.Errorf("open the copy of %s: %w", m.opts.Stream, failed)
		}
	}
}

// whoFenced returns fenced if another program has opened the copy since this Run has. If this Run
// is still the one that has opened it last, somebody else has changed the version, as a Copy does
// that finds its table dropped and makes it again; the same is true if there is no state any more.
// If the state cannot be loaded, the next open finds out: the claim of another program is higher.
func (m *Mirror[T]) whoFenced(ctx context.Context, fenced error) error {
	state, err := m.load(ctx)
	switch {
	case err != nil:
		return err
	case state.Epoch == 0 || state.Epoch == m.opened && state.Writer == m.claim.writer:
		return fmt.Errorf("somebody has changed the state of the copy of %s, for example by dropping its table; no other program has opened it, so it is opened again", m.opts.Stream)
	}
	return fenced
}

func (m *Mirror[T]) load(ctx context.Context) (State, error) {
	state, err := m.copy.Load(ctx)
	if err != nil {
		return State{}, fmt.Errorf("load the state of the copy of %s: %w", m.opts.Stream, err)
	}
	return state, nil
}

// commit makes one transaction without a change of a row.
func (m *Mirror[T]) commit(ctx context.Context, old, next State) error {
	tx, err := m.copy.Begin(ctx, old, false)
	if err != nil {
		return err
	}
	return tx.Commit(ctx, next)
}
