package reflector

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/relist-go/relist/listwatch"
)

// Reflector keeps a [Sink] in step with an API server.
type Reflector[T any] struct {
	lw    listwatch.ListWatcher[T]
	sink  Sink[T]
	known func(key string) (listwatch.Meta, bool) // what the sink holds; see [Known]
	trace Trace

	running sync.Mutex // held by Run
	state   state      // owned by Run

	board   board         // what Status and the others see
	relists chan struct{} // holds a token when a list is asked for
}

// ErrRunning is returned by a second [Reflector.Run] while the first still runs.
var ErrRunning = errors.New("reflector: Run was called while the reflector runs")

// New returns a Reflector that has not started.
func New[T any](lw listwatch.ListWatcher[T], sink Sink[T], opts Options) *Reflector[T] {
	return &Reflector[T]{
		lw:    lw,
		sink:  sink,
		known: knownMeta(sink),
		trace: opts.Trace.withDefaults(),
		state: newState(opts.rules()),

		relists: make(chan struct{}, 1),
	}
}

// Run lists and watches until ctx ends, and returns ctx.Err(). Every goroutine it
// started has ended by then.
//
// No error of the server ends it: each is reported through Trace and tried
// again. Run may be called again after it has returned, and goes on where it
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

	// What belongs to the input at hand, for the effects that follow from it.
	list  *listwatch.List[T]
	took  time.Duration // how long list took to come
	event listwatch.Event[T]
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
			in = tick{}
		case <-d.relists:
			in = listWanted{}
		case m := <-d.messages():
			if ctx.Err() != nil {
				return ctx.Err() // the request may have failed for that reason
			}
			in = d.take(m)
		}
		d.feed(ctx, in)
		d.board.follow(d.state, time.Now())
		if at := d.state.wake(); !at.Equal(armed) {
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
	d.state = d.state.suspended()
	d.board.stopped(time.Now())
}

func (d *driver[T]) messages() <-chan message[T] {
	if d.op == nil {
		return nil
	}
	return d.op.messages
}

// take keeps the objects of a message and reports what its input says of the
// request.
func (d *driver[T]) take(m message[T]) input {
	d.list, d.event = m.list, m.event
	switch in := m.in.(type) {
	case listed:
		d.took = time.Since(d.op.started)
		d.drop()
	case listFailed:
		d.trace.ListDone(ListDone{Duration: time.Since(d.op.started), Err: in.err})
		d.board.failed(in.err, time.Now())
		d.drop()
	case opened:
		d.op.open = true
		d.trace.WatchOpen()
	case event:
		if in.typ != listwatch.Bookmark {
			d.op.events++
		}
		if older(in.version, d.state.resume) {
			in.news = d.isNews(m.event)
			m.in = in
		}
		d.board.event(in.typ, time.Now())
		if d.event.Err != nil {
			d.trace.Problem(Problem{Class: ObjectProblem, Key: d.event.Meta.Key, Err: d.event.Err})
		}
	case ended:
		d.hangUp(in.err)
	}
	return m.in
}

// feed gives one input to the machine and performs what comes of it.
func (d *driver[T]) feed(ctx context.Context, in input) {
	for in != nil {
		var effects []effect
		d.state, effects = step(d.state, time.Now(), in)
		in = nil
		for _, eff := range effects {
			if err := d.perform(ctx, eff); err != nil {
				in = sinkFailed{err: err}
				break
			}
		}
	}
	d.list, d.event = nil, listwatch.Event[T]{}
}

// perform does one effect. It returns an error of the sink.
func (d *driver[T]) perform(ctx context.Context, eff effect) error {
	switch eff := eff.(type) {
	case list:
		d.trace.ListStart(ListStart{ResourceVersion: eff.version, Limit: eff.limit})
		d.board.listStarted()
		d.op = start(d.hooked(ctx), false, runList(d.lw, eff))
	case watch:
		d.trace.WatchStart(WatchStart{ResourceVersion: eff.version, Timeout: eff.timeout})
		d.op = start(d.hooked(ctx), true, runWatch(d.lw, eff))
	case refuse:
		d.trace.ListDone(ListDone{Duration: d.took, Err: eff.err})
	case replace:
		return d.replace(eff)
	case apply:
		return d.apply()
	case resync:
		return d.sink.Resync()
	case hangUp:
		d.hangUp(eff.err)
	case bookmark:
		d.trace.Bookmark(eff.version)
	case relist:
		d.trace.Relist(Relist{ResourceVersion: d.state.resume, Reason: eff.reason, Err: eff.err})
	case backoff:
		d.trace.Backoff(Backoff{Delay: eff.delay, Reason: eff.reason, Err: eff.err})
	case problem:
		d.trace.Problem(Problem{Class: eff.class, Key: d.event.Meta.Key, Err: eff.err})
	}
	return nil
}

// replace gives the list to the sink.
func (d *driver[T]) replace(eff replace) error {
	err := d.sink.Replace(d.list.Items, eff.version)
	d.trace.ListDone(ListDone{
		ResourceVersion: eff.version,
		Items:           len(d.list.Items),
		Pages:           d.list.Pages,
		Duration:        d.took,
		Err:             err,
	})
	for _, bad := range d.list.Errors {
		d.trace.Problem(Problem{Class: ObjectProblem, Key: bad.Meta.Key, Err: bad})
	}
	if err != nil {
		return fmt.Errorf("replace the sink's objects with a list of %d at resourceVersion %s: %w", len(d.list.Items), eff.version, err)
	}
	if d.board.listApplied() {
		d.trace.Synced()
	}
	return nil
}

// apply gives the event to the sink.
func (d *driver[T]) apply() error {
	e := d.event
	var err error
	switch e.Type {
	case listwatch.Added:
		err = d.sink.Add(e.Object)
	case listwatch.Modified:
		err = d.sink.Update(e.Object)
	case listwatch.Deleted:
		err = d.sink.Delete(e.Object)
	case listwatch.Bookmark:
		panic("reflector: unreachable: the machine applies no bookmark")
	}
	if err != nil {
		return fmt.Errorf("apply %v of %s at resourceVersion %s: %w", e.Type, e.Meta.Key, e.Meta.ResourceVersion, err)
	}
	d.trace.Event(Event{Type: e.Type, Key: e.Meta.Key, UID: e.Meta.UID, ResourceVersion: e.Meta.ResourceVersion})
	return nil
}

// hangUp ends what is open and reports the end of a watch.
func (d *driver[T]) hangUp(err error) {
	op := d.op
	if op == nil {
		return
	}
	d.drop()
	if !op.watch {
		return
	}
	reason := classify(err)
	if !op.open {
		reason = requestReason(err)
	}
	if reason != Closed && reason != Asked {
		d.board.failed(err, time.Now())
	}
	d.trace.WatchEnd(WatchEnd{
		ResourceVersion: d.state.resume,
		Reason:          reason,
		Err:             err,
		Events:          op.events,
		Duration:        time.Since(op.started),
	})
}

// hooked has the bytes of a request counted as signs of life.
func (d *driver[T]) hooked(ctx context.Context) context.Context {
	return listwatch.WithReadHook(ctx, d.board.heard)
}

// drop ends what is open and waits for its goroutine.
func (d *driver[T]) drop() {
	if d.op != nil {
		d.op.stop()
		d.op = nil
	}
}
