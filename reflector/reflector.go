package reflector

import (
	"context"
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/bound"
	"github.com/relist-go/relist/listwatch"
)

// Reflector keeps a [Sink] in step with an API server.
type Reflector[T any] struct {
	lw    listwatch.ListWatcher[T]
	sink  outlet[T]
	fatal func(error) bool
	check Verify
	known func(key string) (T, bool)                                       // of the sink, or nil if it does not say what it holds
	fetch func(ctx context.Context, key string) (T, listwatch.Meta, error) // of lw, or nil if it fetches no single objects
	trace Trace

	running sync.Mutex // held by Run
	state   state      // owned by Run

	// distrusted says that the server's storage went back, or may have, and that the sink
	// still has what it held before. It is owned by Run.
	distrusted bool

	quarantine *quarantine[T] // owned by Run

	board   board         // what Status and the others see
	relists chan struct{} // holds a token when a list is asked for
}

// outlet is a sink, and its methods that are called for each event.
type outlet[T any] struct {
	Sink[T]
	Add, Update, Delete func(obj T) error
}

// ErrRunning is returned by a second [Reflector.Run] while the first still runs.
var ErrRunning = errors.New("reflector: Run was called while the reflector runs")

// New returns a Reflector that has not started.
func New[T any](lw listwatch.ListWatcher[T], sink Sink[T], opts Options) *Reflector[T] {
	rules := opts.rules()
	r := &Reflector[T]{
		lw:    lw,
		sink:  outlet[T]{Sink: sink},
		fatal: opts.Fatal,
		check: opts.Verify,
		trace: opts.Trace.withDefaults(),
		state: newState(rules),

		relists: make(chan struct{}, 1),
	}
	r.sink.Add, r.sink.Update, r.sink.Delete = bound.Changes[T](sink)
	if known, ok := sink.(Known[T]); ok {
		r.known = bound.Get[T](known)
	}
	if getter, ok := lw.(listwatch.Getter[T]); ok {
		r.fetch = bound.Fetch[T, listwatch.Meta](getter)
	}
	r.quarantine = newQuarantine[T](rules, r.fetch != nil)
	return r
}

// Run lists and watches until ctx ends, and returns ctx.Err(). Every goroutine it
// started has ended by then.
//
// No error of the server ends it, unless [Options.Fatal] says so: each is reported
// through Trace and tried again. Run may be called again after it has returned, and goes on where it
// was, with a watch if the sink holds a list.
func (r *Reflector[T]) Run(ctx context.Context) error {
	if !r.running.TryLock() {
		return ErrRunning
	}
	defer r.running.Unlock()
	d := driver[T]{Reflector: r}
	return d.run(ctx)
}

// driver is one Run: the goroutine that owns the machine and does what it says.
type driver[T any] struct {
	*Reflector[T]
	op *operation[T] // nil when nothing is open

	// visit is the fetching of one object, beside op; nil when there is none.
	// patient is what it is for.
	visit   *operation[T]
	patient *patient[T]

	verification *verification // nil when nothing is compared
	verifyAt     time.Time     // when to begin; zero for never

	marked    string         // the version that the sink was told last
	collected *collection[T] // the initial events of a watch so far
	end       error          // what Run is to return, if Options.Fatal says so

	// What belongs to the input at hand, for the effects that follow from it.
	list   *listwatch.List[T]
	took   time.Duration // how long list took to come
	serves int           // the calls of Relist that list satisfies
	event  listwatch.Event[T]
}

func (d *driver[T]) run(ctx context.Context) error {
	defer d.suspend()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var armed time.Time
	for {
		var in input
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			armed = time.Time{}
			in = tick{heard: d.op.heard(&d.board, time.Now())}
		case <-d.relists:
			in = listWanted{}
		case m := <-d.op.received():
			if ctx.Err() != nil {
				return ctx.Err() // the request may have failed for that reason
			}
			if m.batch != nil {
				d.work(ctx, m.batch)
			} else {
				in = d.take(m)
			}
		case m := <-d.visit.received():
			in = d.visited(m.event)
		case m := <-d.metadata():
			d.metadataCame(m)
		}
		if d.end != nil {
			return d.end
		}
		if in != nil {
			d.feed(ctx, time.Now(), in)
		}
		if d.end != nil {
			return d.end
		}
		d.treat(ctx)
		d.verify(ctx)
		d.board.follow(d.state)
		if at := d.wake(); !at.Equal(armed) {
			armed = at
			timer.Stop()
			if !at.IsZero() {
				timer.Reset(time.Until(at))
			}
		}
	}
}

// suspend leaves the machine where a later Run can go on.
func (d *driver[T]) suspend() {
	d.drop()
	d.endVisit()
	d.endVerification()
	d.state = d.state.suspended()
	d.board.stopped(time.Now())
}

// metadata is where the list of a verification comes from.
func (d *driver[T]) metadata() <-chan message[*metav1.PartialObjectMetadata] {
	if d.verification == nil {
		return nil
	}
	return d.verification.op.received()
}

// wake returns when there is something to do without a message; zero means never.
func (d *driver[T]) wake() time.Time {
	at := d.state.wake()
	if !d.tooBusy() {
		at = earliest(at, d.quarantine.wake())
	}
	if p, ok := d.state.phase.(watching); ok && p.open && d.verification == nil {
		at = earliest(at, d.verifyAt)
	}
	return at
}
