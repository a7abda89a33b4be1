package durable

import (
	"log/slog"
	"sync"
	"time"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
)

// Status says how far the copy is. If something has not happened yet, its time is zero.
type Status struct {
	// Reflector is the status of the reflector that writes to the copy now.
	Reflector reflector.Status

	// Committed is the state of the last commit. Its Point.Unsure are the keys whose rows may not
	// be what the server has.
	Committed State

	// CommittedAt is the time of the last commit, and Changes is the number of changes that were
	// committed since Run was called first.
	CommittedAt time.Time
	Changes     int64

	// Pending is the number of changes that are not committed, and PendingSince is when the first
	// of them came. If a list is being read, Listed is the number of objects that have come so far.
	Pending      int
	PendingSince time.Time
	Listed       int

	// FailingSince is when calls of the copy began to fail: nothing has been committed since,
	// except parts of a first list. Err is the last error, even if it is long over.
	FailingSince time.Time
	Err          error
}

// Lag is how long the oldest change has been waiting for its commit. It is 0 if nothing waits.
func (s Status) Lag(now time.Time) time.Duration {
	if s.PendingSince.IsZero() {
		return 0
	}
	return now.Sub(s.PendingSince)
}

// Status may be called at any time, by any goroutine.
func (m *Mirror[T]) Status() Status { return m.board.status() }

// board is what Status reads.
type board[T object.Object] struct {
	mu        sync.Mutex
	reflector *reflector.Reflector[T]
	s         Status
	n         int // commits, except parts of a list
}

func (b *board[T]) status() Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.s
	if b.reflector != nil {
		s.Reflector = b.reflector.Status()
	}
	return s
}

func (b *board[T]) commits() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n
}

func (b *board[T]) opened(r *reflector.Reflector[T], state State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reflector, b.s.Committed = r, state
	b.s.Pending, b.s.PendingSince, b.s.Listed = 0, time.Time{}, 0
}

func (b *board[T]) committed(state State, c Commit, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.Committed, b.s.CommittedAt = state, now
	b.s.Changes += int64(c.Changes)
	if !c.Part {
		b.n++
		b.s.FailingSince = time.Time{}
	}
}

func (b *board[T]) pending(n int, since time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.Pending, b.s.PendingSince = n, since
	if n == 0 {
		b.s.PendingSince = time.Time{}
	}
}

func (b *board[T]) listing(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.Listed = n
}

func (b *board[T]) failed(err error, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.s.Err = err; b.s.FailingSince.IsZero() {
		b.s.FailingSince = now
	}
}

// Trace is a set of functions that are told what a [Mirror] does with its copy. Any of them may be
// nil. The Mirror waits for them: they must be quick, and must not call the Mirror. What happens on
// the way to the server is told to Options.Reflector.Trace.
type Trace struct {
	// Opened: the copy was opened. If its Point has a version, the watch is resumed there.
	Opened func(State)

	// ListPart: a part of a list has come. objects is the number of objects that the list has
	// brought so far.
	ListPart func(objects int)

	// Commit: a transaction was committed.
	Commit func(Commit)

	// Failure: a call of the copy has failed. The Mirror opens the copy again after a delay.
	Failed func(Failure)
}

// Commit is given to [Trace.Commit].
type Commit struct {
	Point    reflector.Point
	Changes  int           // of rows
	List     bool          // they are of a list
	Part     bool          // the list has not ended. Such a commit does not end a failure, because the next part may fail as before
	Since    time.Time     // when the first change came, or when the list began; zero if there was no change
	Duration time.Duration // of the transaction
}

// Failure is given to [Trace.Failed].
type Failure struct {
	Err   error
	Delay time.Duration // until the next try
}

// withLog returns a Trace that calls the functions of t, and also logs. Each of its functions is
// set. A failure is logged at Warn. Further failures are not logged until the next commit.
func (t *Trace) withLog(logger *slog.Logger) *Trace {
	var own Trace
	if t != nil {
		own = *t
	}
	failing := false
	return &Trace{
		Opened: func(s State) {
			logger.Info("relist: copy opened", "epoch", s.Epoch, "resourceVersion", s.Point.Version, "unsure", len(s.Point.Unsure)+s.Point.MoreUnsure, "afterFailure", failing)
			if own.Opened != nil {
				own.Opened(s)
			}
		},
		ListPart: func(n int) {
			if own.ListPart != nil {
				own.ListPart(n)
			}
		},
		Commit: func(c Commit) {
			if failing && !c.Part {
				logger.Warn("relist: copy written again", "resourceVersion", c.Point.Version)
			}
			failing = failing && c.Part
			if own.Commit != nil {
				own.Commit(c)
			}
		},
		Failed: func(f Failure) {
			if !failing {
				logger.Warn("relist: copy cannot be written", "error", f.Err, "retryIn", f.Delay)
			}
			failing = true
			if own.Failed != nil {
				own.Failed(f)
			}
		},
	}
}
