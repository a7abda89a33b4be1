package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/controller/lease"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/goexit"
	"github.com/relist-go/relist/internal/writes"
)

// Reconcile looks at everything that a key stands for, and makes the world agree with it. It is
// called for an object that has changed, and for one that has gone: the store then has nothing
// under the key. It must do no harm if nothing is to be done, because it is called more often than
// needed. It is never called for one key twice at the same time.
//
// The stores have what earlier calls for the key have written, if package writer wrote it with ctx:
// the key is not given again before that. What others have written may still be missing.
//
// If it returns no error, it is called again when something has changed, and also when after has
// passed, if that is positive. Only the latest call counts: one that returns 0 waits for changes
// alone.
//
// If it returns an error, it is called again after a delay: see [QueueOptions]. If after is
// positive, or if the error is an answer of the API server that says when to come back
// (Retry-After, in the Status of a 429, 500, 503 or 504), the key waits for that time, and then for
// the delay. A panic counts as an error. After a [Terminal] error it is not called again, unless
// after is positive or something changes.
//
// ctx ends when the controller stops. Reconcile must return soon after that, because Run waits for
// it.
type Reconcile func(ctx context.Context, key string) (after time.Duration, err error)

// Options of [Run]. The zero value is ready.
type Options struct {
	// Workers is the number of keys that are worked on at once.
	// If zero, 1 is used, as in controller-runtime. If negative, Run returns an error.
	Workers int

	// Queue is the queue that Run uses, if the program wants to read its Stats, to add keys of its
	// own, to drain it, or to choose the delays. Run closes it in the end. If nil, Run makes one.
	Queue *Queue[string]

	// Leader lets only one of the processes that share its lease work; see package lease. The
	// others keep their caches. A term begins with the keys of all objects, and its first reconcile
	// reads what the last leader wrote. When the term ends, the context of Reconcile ends, and the
	// queue forgets its keys. Run releases the lease at its end. If nil, there is no election.
	Leader *lease.Lease

	// Logger is told of errors and panics of Reconcile, and of informers that get no first list. A
	// key that fails has a line for each state and not for each attempt: "relist: reconcile failed"
	// at Warn when it begins to fail, and again if it fails with another reason of the API server,
	// where all Terminal errors are one reason; "relist: reconcile panicked" at Error, with the
	// stack; "relist: reconcile recovered" at Warn when it is over, with the time that it took. A
	// write that the server has refused with a conflict, or because the object exists or has gone,
	// is told only if that happens ten times in succession: a cache that is a moment behind causes
	// a few. In any minute, ten failures have a line of their own; other keys have theirs later, if
	// they fail for longer. All attempts are told at Debug. If nil, slog.Default() is used.
	Logger *slog.Logger

	// OnReconciled is called after each call of Reconcile, by the worker, for metrics. If nil,
	// nobody is told.
	OnReconciled func(Reconciled)
}

// Reconciled says what a call of [Reconcile] has done.
type Reconciled struct {
	Key      string
	Waited   time.Duration // how long the key had been ready
	Took     time.Duration // how long the call took
	Next     time.Duration // when it is called again if nothing changes; 0 if it is not
	Failures int           // calls for this key in a row that have failed, this one included
	Err      error         // what it returned, or a [*PanicError]
}

// PanicError says that [Reconcile] panicked.
type PanicError struct {
	Key   string
	Value any    // what it panicked with
	Stack []byte // where, as runtime/debug.Stack formats it
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("controller: reconcile %q: panic: %v", e.Key, e.Value)
}

// Unwrap returns the panic value if it is an error, so that errors.Is finds it.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

var (
	errNoFunction = errors.New("controller: the Reconcile function is nil")
	errNoSource   = errors.New("controller: no source and no queue, so that there would be nothing to do: add controller.For(...)")
	errNoKind     = errors.New("the type of the owners has no Kind: set Kind of the object.Type, such as ReplicaSet")
)

const (
	// waitReport is how often Run says that an informer has no first list yet.
	waitReport = 10 * time.Second

	// longestRetryAfter bounds what a server can ask for, as in the reflector.
	longestRetryAfter = time.Hour
)

// Run calls reconcile for the keys of all sources until ctx ends, and returns ctx.Err(). When it
// returns, every goroutine that it started has ended, and no call of reconcile runs.
//
// Run runs the informers of the sources. If an informer runs already, because the program or
// another controller runs it, Run uses it as it is. So a program that runs an informer itself
// begins with that. An informer may be in several sources. The first reconcile begins when every
// informer has its first list, and is at least as new as its server was when Run began; until then,
// Run logs every 10 seconds what it waits for, and why.
//
// If an informer ends, Run ends with its error. For an informer that somebody else runs, the error
// satisfies errors.Is with [informer.ErrStopped]; so does the error of a second Run with the same
// sources, because an informer runs once. If the program closes Options.Queue, or has drained it,
// Run ends with [ErrClosed]. If reconcile, or another function of the program, calls
// runtime.Goexit, as t.FailNow does, Run ends with an error that says so.
//
// Keys that wait when Run ends are dropped: the next start looks at every object.
func Run(ctx context.Context, reconcile Reconcile, opts Options, sources ...Source) error {
	inner, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	c, err := newRunning(reconcile, opts, sources)
	if err != nil {
		return err
	}
	c.fail = fail
	defer c.queue.Close()
	keys := c.queue
	if opts.Leader != nil {
		keys = standby()
	}
	registrations, err := observe(keys, sources)
	if err != nil {
		return err
	}
	var informers sync.WaitGroup
	run := map[any]bool{}
	start := goals(inner, sources) // before the first lists, which are then not older, if one server answers both
	for i, s := range sources {
		if run[s.informer] {
			continue // another source runs it
		}
		run[s.informer] = true
		informers.Go(func() {
			err := fmt.Errorf("controller: %s: %w", s.name, goexit.Err)
			goexit.Do(func() { err = s.keepRunning(inner, registrations[i]) }, func(bool) { fail(err) })
		})
	}
	c.workers.Go(func() {
		goexit.Do(func() {
			if !c.awaitSync(inner, sources, registrations) || !c.begin(inner, start) {
				return
			}
			if opts.Leader != nil {
				c.lead(inner, opts, sources)
				return
			}
			for range max(opts.Workers, 1) {
				c.workers.Go(func() { c.work(inner) })
			}
		}, func(exited bool) {
			if exited {
				fail(fmt.Errorf("controller: the Logger, or a source that waits for its first list: %w", goexit.Err))
			}
		})
	})
	c.workers.Wait()
	fail(ErrClosed) // the workers end if inner has ended, and then this does nothing, or if the queue is closed
	c.holding.Wait()
	remove(registrations)
	informers.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.Cause(inner)
}

// observe lets the sources add keys. If one cannot, none does.
func observe(q *Queue[string], sources []Source) ([]*informer.Registration, error) {
	var registrations []*informer.Registration
	for _, s := range sources {
		r, err := s.observe(q)
		if err != nil {
			remove(registrations)
			return nil, fmt.Errorf("controller: %s: %w", s.name, err)
		}
		registrations = append(registrations, r)
	}
	return registrations, nil
}

// remove ends what observe began, and waits until no source adds a key.
func remove(registrations []*informer.Registration) {
	for _, r := range registrations {
		r.RemoveAsync()
		<-r.Done()
	}
}

// keepRunning runs the informer of a source. If it runs already, keepRunning waits for its end.
func (s Source) keepRunning(ctx context.Context, observer *informer.Registration) error {
	err := cmp.Or(s.run(ctx), informer.ErrStopped) // nil: somebody has called Stop
	if errors.Is(err, informer.ErrStarted) {
		select {
		case <-observer.Done():
			err = informer.ErrStopped
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fmt.Errorf("controller: %s: %w", s.name, err)
}

// running is one Run.
type running struct {
	reconcile  Reconcile
	queue      *Queue[string]
	log        *slog.Logger
	failures   failureLog
	reconciled func(Reconciled)
	sources    []Source
	workers    sync.WaitGroup
	holding    sync.WaitGroup          // of keys
	fail       context.CancelCauseFunc // ends Run
}

func newRunning(reconcile Reconcile, opts Options, sources []Source) (*running, error) {
	switch {
	case reconcile == nil:
		return nil, errNoFunction
	case opts.Workers < 0:
		return nil, fmt.Errorf("controller: %d workers: use a positive number, or 0 for 1", opts.Workers)
	case len(sources) == 0 && opts.Queue == nil:
		return nil, errNoSource
	}
	c := &running{reconcile: reconcile, queue: opts.Queue, log: opts.Logger, reconciled: opts.OnReconciled, sources: sources}
	if c.queue == nil {
		c.queue = NewQueue[string](QueueOptions{})
	}
	c.log = cmp.Or(c.log, slog.Default())
	c.failures.logger = c.log
	return c, nil
}

// awaitSync waits until the keys of every first list are in the queue. It returns false if ctx ends
// or the queue is closed before that.
func (c *running) awaitSync(ctx context.Context, sources []Source, registrations []*informer.Registration) bool {
	ticker := time.NewTicker(waitReport)
	defer ticker.Stop()
	for i, s := range sources {
		for !registrations[i].HasSynced() {
			select {
			case <-registrations[i].Synced():
			case <-ticker.C:
				c.log.WarnContext(ctx, "controller waits for the first list", "source", s.name, "error", s.late(ctx))
			case <-c.queue.closed:
				return false
			case <-ctx.Done():
				return false
			}
		}
	}
	return true
}

// begin waits until the caches are as new as their servers were when the goals were made. So no
// call reads an older state than the calls before it, in this process or another.
func (c *running) begin(ctx context.Context, start []goal) bool {
	ctx, end := context.WithCancel(ctx)
	defer end()
	c.workers.Go(func() {
		select {
		case <-c.queue.closed:
			end()
		case <-ctx.Done():
		}
	})
	return c.catchUp(ctx, start) == nil
}

// late returns what keeps an informer from having its first list.
func (s Source) late(ctx context.Context) error {
	now, end := context.WithDeadline(ctx, time.Now())
	defer end()
	return s.await(now)
}

// work takes keys until ctx ends or the queue is closed. If a function of the program ends the
// goroutine, work calls fail, which ends ctx.
func (c *running) work(ctx context.Context) {
	var key string
	goexit.Do(func() {
		for {
			next, waited, err := c.queue.get(ctx)
			if err != nil {
				return
			}
			key = next
			c.process(ctx, key, waited)
		}
	}, func(exited bool) {
		if exited {
			c.fail(fmt.Errorf("controller: reconcile %q: %w", key, goexit.Err))
		}
	})
}

// process calls reconcile, and decides what follows.
func (c *running) process(ctx context.Context, key string, waited time.Duration) {
	r := Reconciled{Key: key, Waited: waited}
	made := notes{sources: c.sources}
	goexit.Do(func() {
		began := time.Now()
		after, err := c.call(writes.WithNotes(ctx, made.begin), key)
		r.Took, r.Err = time.Since(began), err
		c.settle(ctx, &r, after)
	}, func(bool) { c.hold(ctx, key, made.end()) })
	if c.reconciled != nil {
		c.reconciled(r)
	}
}

// call calls reconcile, and returns its panic as an error: the object of another tenant must not
// end a program that looks after many.
func (c *running) call(ctx context.Context, key string) (after time.Duration, err error) {
	defer func() {
		if v := recover(); v != nil {
			after, err = 0, &PanicError{Key: key, Value: v, Stack: debug.Stack()}
		}
	}()
	return c.reconcile(ctx, key)
}

// settle decides when the key is looked at again.
func (c *running) settle(ctx context.Context, r *Reconciled, after time.Duration) {
	if r.Err == nil {
		c.failures.succeeded(ctx, r.Key, c.queue.Failures(r.Key))
		c.queue.Forget(r.Key)
		if after > 0 {
			r.Next = after
			c.queue.AddAfter(r.Key, after)
		}
		return
	}
	terminal := isTerminal(r.Err)
	if seconds, ok := apierrors.SuggestsClientDelay(r.Err); ok && !terminal {
		after = max(after, min(time.Duration(seconds)*time.Second, longestRetryAfter))
	}
	r.Next = c.queue.fail(r.Key, after, terminal)
	r.Failures = c.queue.Failures(r.Key)
	if ctx.Err() != nil && errors.Is(r.Err, ctx.Err()) && classOf(r.Err) != classPanic {
		return // the controller stops, and so did reconcile
	}
	c.failures.failed(ctx, r)
}
