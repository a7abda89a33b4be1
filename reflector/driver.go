package reflector

import (
	"context"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/goexit"
	"github.com/relist-go/relist/internal/hook"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
)

// driver is one Run: the goroutine that owns the machine, tells it what happens, and
// does what it says. It decides nothing.
type driver[T any] struct {
	*Reflector[T]
	// stepped lets who records a run see each step of the machine; nil outside of such a run.
	stepped hook.Step[*protocol.Machine, protocol.Input, protocol.Effect]

	// The requests that are open; nil if none is. There is one of each kind at a time.
	main         *request[T] // a list or a watch
	refetch      *request[T]
	verification *request[*metav1.PartialObjectMetadata]
	exited       chan struct{} // has one if a function of the program has ended a request

	// listGone is the ConnGone of the last list; nil once a watch was opened.
	listGone func() bool

	initial  *initialEvents[T] // of the watch that is open, so far
	list     *incoming[T]      // that is open, or that the machine decides about
	change   change[T]         // that the machine decides about
	metadata *metadata         // of a verification, until it is compared

	applied    string   // the version that At of the sink was called with last
	wantsPoint bool     // the sink has called point then
	point      Point    // that it got
	sinkCalled bool     // the sink was given a change since then
	keys       []string // used again by expect

	end error // what Run is to return, if Options.Fatal says so
}

func (d *driver[T]) run(ctx context.Context) error {
	if err := d.begin(ctx, time.Now()); err != nil {
		return err
	}
	defer d.suspend()
	d.applied = d.machine.Resume()
	d.shared.started(time.Now())
	timer := time.NewTimer(0)
	defer timer.Stop()
	var armed time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			armed = time.Time{}
			now := time.Now()
			d.step(ctx, now, d.tick(now))
		case <-d.relists:
			d.step(ctx, time.Now(), protocol.ListWanted{Ticket: d.shared.lastTicket()})
		case <-d.exited:
			return goexit.Err
		case m := <-d.main.received():
			if ctx.Err() != nil {
				return ctx.Err() // the request may have failed for that reason
			}
			d.receive(ctx, m)
		case m := <-d.refetch.received():
			d.answered(ctx, time.Now(), m)
		case m := <-d.verification.received():
			d.metadata = &metadata{list: m.list, asked: d.verification.started}
			d.verification.stop()
			d.verification = nil
			d.step(ctx, time.Now(), m.in)
		}
		if d.end != nil {
			return d.end
		}
		d.tellPoint()
		if at := d.machine.Wake(); !at.Equal(armed) {
			armed = at
			timer.Stop()
			if !at.IsZero() {
				timer.Reset(time.Until(at))
			}
		}
	}
}

// suspend stops all requests, and leaves the machine in a state from which a later Run
// can continue.
func (d *driver[T]) suspend() {
	d.main.stop()
	d.refetch.stop()
	d.verification.stop()
	d.dropList()
	d.stepped.Step(d.machine, time.Now(), protocol.Stopped{})
	d.shared.stopped(time.Now())
}

// tick returns a Tick, with the time at which each open request last brought something.
func (d *driver[T]) tick(now time.Time) protocol.Tick {
	return protocol.Tick{Main: d.main.heard(now), Refetch: d.refetch.heard(now), Verification: d.verification.heard(now)}
}

// lastRead is the time of the last read of a connection. It counts from a start by the monotonic
// clock, because the wall clock may be set while a request is open.
type lastRead struct {
	start time.Time    // set before the first read
	after atomic.Int64 // nanoseconds from start to the last read, plus one; zero before the first
}

// note is called on the goroutine that reads.
func (l *lastRead) note() { l.after.Store(int64(time.Since(l.start)) + 1) }

// at returns the time of the last read as the wall clock has it now; zero if there was none.
func (l *lastRead) at() time.Time {
	after := l.after.Load()
	if after == 0 {
		return time.Time{}
	}
	now := time.Now()
	return now.Add(time.Duration(after-1) - now.Sub(l.start))
}

// tellPoint tells the sink up to where it has everything.
func (d *driver[T]) tellPoint() {
	resume := d.machine.Resume()
	if resume == d.applied && !d.sinkCalled && (!d.wantsPoint || equalPoints(d.point, d.machine.Point())) {
		return
	}
	d.sinkCalled, d.applied = false, resume
	d.sink.At(resume, d.saves)
}

// saves returns the point at which the sink can be saved.
func (d *driver[T]) saves() Point {
	d.wantsPoint, d.point = true, d.machine.Point()
	p := d.point
	p.Current = d.shared.current(time.Now())
	return p
}

// step gives one input to the machine, performs the effects, and continues with what comes of them.
func (d *driver[T]) step(ctx context.Context, now time.Time, in protocol.Input) {
	for in != nil {
		effects := d.stepped.Step(d.machine, now, in)
		in = nil
		for _, eff := range effects {
			if next := d.perform(ctx, now, eff); next != nil {
				in = next
			}
		}
		if in != nil {
			now = time.Now() // the call of the sink may have taken long
		}
	}
	d.shared.follow(d.machine, now)
}

// answerOf returns the input for what the sink has answered.
func answerOf(err error) protocol.Input {
	if err != nil {
		return protocol.Refused{Err: err}
	}
	return protocol.Took{}
}

// receive takes a message of the list or watch that is open.
func (d *driver[T]) receive(ctx context.Context, m message[T]) {
	switch {
	case m.batch != nil:
		d.work(ctx, m.batch)
		return
	case m.part != nil:
		d.takePart(*m.part)
		return
	}
	now := time.Now()
	in := m.in
	switch fact := in.(type) {
	case protocol.Listed:
		if fact.Failure.Reason != 0 {
			d.trace.ListDone(ListDone{Duration: now.Sub(d.main.started), Err: fact.Failure.Err})
			d.closeMain()
			break
		}
		d.main.stop()
		d.listGone = m.list.ConnGone
		in = protocol.Listed{Sum: d.listed(m.list.ResourceVersion, m.list.Pages, now.Sub(d.main.started))}
		d.main = nil
	case protocol.Opened:
		d.listGone = nil
		d.trace.WatchOpen()
	case protocol.Ended:
		d.disconnect(now, fact.Failure.Reason, fact.Failure.Err)
	}
	d.step(ctx, now, in)
}

// work takes the events of a batch, one after the other. It applies each event, and brings
// the status up to date, before it looks at the next. If the machine gives up the watch
// because of an event, or if Run is to end, work drops the rest of the batch.
func (d *driver[T]) work(ctx context.Context, batch []source.Event[T]) {
	defer clear(batch) // it is used again, and must not keep objects alive
	from := d.main
	d.expect(len(batch), func(i int) string { return batch[i].Meta.Key })
	seen := &protocol.Seen{}
	for _, e := range batch {
		if d.main != from || d.end != nil || ctx.Err() != nil {
			return
		}
		now := time.Now()
		d.change = change[T]{Event: e}
		*seen = protocol.Seen{Type: e.Type}
		d.shared.event(e.Type, now)
		switch {
		case e.Type != object.Bookmark:
			d.main.events++
			seen.Item = d.item(e.Meta, e.Err)
		case e.InitialEventsEnd && d.initial != nil:
			d.beginList(false)
			d.takePart(d.initial.list())
			d.initial = nil
			sum := d.listed(e.Meta.ResourceVersion, 0, now.Sub(d.main.started))
			seen.Item.Meta, seen.EndsInitial, seen.Sum = e.Meta, true, &sum
		default:
			seen.Item.Meta = e.Meta
		}
		d.step(ctx, now, seen)
	}
}

// answered takes the answer to a refetch.
func (d *driver[T]) answered(ctx context.Context, now time.Time, m message[T]) {
	in, ok := m.in.(protocol.Refetched)
	if !ok {
		panic("reflector: unreachable: a refetch brings nothing but an answer")
	}
	d.change = change[T]{answer: true, asOf: in.Version}
	key := d.refetch.key
	d.refetch.stop()
	d.refetch = nil
	if m.list != nil {
		for i, obj := range m.list.Items {
			meta, _ := m.list.Meta(i)
			in.Items = append(in.Items, d.item(meta, nil))
			d.change.Object, d.change.Meta = obj, meta
		}
		for _, bad := range m.list.Errors {
			in.Items = append(in.Items, d.item(bad.Meta, bad))
		}
	}
	in.Held, in.IsHeld = d.held(key)
	if in.More = in.More || len(in.Items) > 2; in.More {
		in.Items = in.Items[:min(len(in.Items), 2)]
	}
	if len(in.Items) == 0 {
		d.change.Meta = object.Meta{Key: key, UID: in.Held.UID, ResourceVersion: in.Version}
	}
	d.step(ctx, now, in)
}

// perform does one effect. It returns the next input for the machine, if there is one.
func (d *driver[T]) perform(ctx context.Context, now time.Time, eff protocol.Effect) protocol.Input {
	switch eff := eff.(type) {
	case protocol.Apply:
		if err := d.apply(eff); eff != protocol.Resumed {
			return answerOf(err)
		}
	case protocol.Applied:
		e := d.change
		d.trace.Event(Event{Type: e.Type, Key: e.Meta.Key, UID: e.Meta.UID, ResourceVersion: e.Meta.ResourceVersion})
	case protocol.Collect:
		d.initial.add(d.change.Event)
	case protocol.Replace:
		return answerOf(d.replace(eff))
	case protocol.Compare:
		compared := protocol.Compared{Differences: d.compare(), Duration: now.Sub(d.metadata.asked)}
		if ctx.Err() == nil { // if a failed sink has ended Run, its keys are no difference
			d.metadata = nil // it is as large as the copy
			return compared
		}
	default:
		d.request(ctx, now, eff)
		d.tell(eff)
	}
	return nil
}

// request does the effects that begin or end a request.
func (d *driver[T]) request(ctx context.Context, now time.Time, eff protocol.Effect) {
	switch eff := eff.(type) {
	case protocol.List:
		d.trace.ListStart(ListStart{ResourceVersion: eff.Version, Limit: eff.Limit})
		var known func(key string) (T, object.Meta, bool)
		if eff.Reuse {
			known = d.reusable
		}
		d.beginList(eff.Reuse)
		d.main = start(ctx, now, d.shared.lastByte.note, d.exited, list(d.lw, eff, known))
	case protocol.Watch:
		d.trace.WatchStart(WatchStart{ResourceVersion: eff.Version, Timeout: eff.Timeout, Initial: eff.Initial})
		d.main = start(ctx, now, d.shared.lastByte.note, d.exited, watch(d.lw, eff, d.listGone))
		d.main.watch = true
		d.initial = nil
		if eff.Initial {
			d.initial = &initialEvents[T]{places: map[string]int{}}
		}
	case protocol.Cancel:
		d.disconnect(now, eff.Reason, eff.Err)
	case protocol.Refetch:
		d.refetch = start(ctx, now, d.shared.lastByte.note, d.exited, refetch(d.lw, eff))
		d.refetch.key = eff.Key
	case protocol.CancelRefetch:
		d.refetch.stop()
		d.refetch = nil
	case protocol.ListMetadata:
		d.verification = start(ctx, now, d.shared.lastByte.note, d.exited, listMetadata(d.check.Metadata, eff.Version))
	case protocol.CancelVerification:
		d.verification.stop()
		d.verification, d.metadata = nil, nil
	}
}

// tell passes the effects that are reports to the log, to Trace and to Status.
func (d *driver[T]) tell(eff protocol.Effect) {
	switch eff := eff.(type) {
	case protocol.ListUnused:
		d.trace.ListDone(ListDone{Duration: d.list.took, Err: eff.Err})
		d.dropList()
	case protocol.Failing:
		d.failing(eff.Err)
	case protocol.Passed:
		d.trace.Bookmark(eff.Version)
	case protocol.Relist:
		d.trace.Relist(Relist{ResourceVersion: eff.Version, Reason: eff.Reason, Err: eff.Err})
	case protocol.Backoff:
		if d.end == nil { // or else no delay follows, but the end of Run
			d.trace.Backoff(eff)
		}
	case protocol.Recovered:
		d.trace.Recovered(eff)
	case protocol.Problem:
		d.trace.Problem(eff)
	case protocol.Released:
		d.trace.Released(eff.Key)
	case protocol.Verified:
		d.trace.Verified(eff)
	case protocol.Synced:
		d.trace.Synced()
	}
}

// disconnect ends the list or watch that is open, if one is, and reports that.
func (d *driver[T]) disconnect(now time.Time, reason protocol.Reason, err error) {
	r := d.main
	if r == nil {
		return
	}
	d.closeMain()
	if !r.watch {
		d.trace.ListDone(ListDone{Duration: now.Sub(r.started), Err: err})
		return
	}
	d.trace.WatchEnd(WatchEnd{
		ResourceVersion: d.machine.Resume(),
		Reason:          reason,
		Err:             err,
		Events:          r.events,
		Duration:        now.Sub(r.started),
	})
}

func (d *driver[T]) closeMain() {
	d.main.stop()
	d.main = nil
	d.dropList()
}

// failing reports a failure, and asks whether to continue after it.
func (d *driver[T]) failing(err error) {
	d.shared.failing(err, time.Now())
	if d.fatal == nil {
		return
	}
	if outage := (&OutageError{Since: d.machine.Status().Failing, Err: err}); d.fatal(outage) {
		d.end = outage
	}
}
