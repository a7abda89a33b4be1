package reflector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/relist-go/relist/listwatch"
)

// take keeps the objects of a message and reports what its input says of the
// request.
func (d *driver[T]) take(m message[T]) input {
	d.list = m.list
	switch in := m.in.(type) {
	case listed:
		d.took, d.serves = time.Since(d.op.started), d.op.serves
		d.drop()
		in.vain = d.reusedInVain(m.list)
		return in
	case probed:
		d.drop()
		if in.err == nil {
			in.other = d.otherHistory(m.list.Items)
		}
		return in
	case listFailed:
		d.trace.ListDone(ListDone{Duration: time.Since(d.op.started), Err: in.err})
		d.failed(in.err)
		d.drop()
	case opened:
		d.op.open = true
		d.trace.WatchOpen()
	case ended:
		d.hangUp(in.err)
	}
	return m.in
}

// feed gives one input to the machine and performs what comes of it.
func (d *driver[T]) feed(ctx context.Context, now time.Time, in input) {
	for in != nil {
		var effects []effect
		before := d.state.anchor
		d.state, effects = step(d.state, now, in)
		in = nil
		for i, eff := range effects {
			if err := d.perform(ctx, eff); err != nil {
				d.failed(err)
				in = sinkFailed{err: err, anchor: before, unasked: slices.ContainsFunc(effects[i:], asks)}
				now = time.Now()
				break
			}
		}
	}
	d.list, d.event = nil, listwatch.Event[T]{}
}

// asks reports whether an effect is a request.
func asks(e effect) bool {
	switch e.(type) {
	case list, watch, probe:
		return true
	}
	return false
}

// perform does one effect. It returns an error of the sink.
func (d *driver[T]) perform(ctx context.Context, eff effect) error {
	switch eff := eff.(type) {
	case list:
		d.trace.ListStart(ListStart{ResourceVersion: eff.version, Limit: eff.limit})
		d.endVisit() // what it brings may be ahead of the list
		d.op = start(d.hooked(ctx), false, runList(d.lw, eff, d.reusable()))
		d.op.serves = d.board.serving(eff.version)
	case watch:
		d.trace.WatchStart(WatchStart{ResourceVersion: eff.version, Timeout: eff.timeout, Initial: eff.initial})
		d.op = start(d.hooked(ctx), true, runWatch(d.lw, eff))
		if eff.initial {
			d.endVisit()
			d.collected = newCollection[T]()
			d.op.serves = d.board.serving(eff.version)
		}
	case refuse:
		d.trace.ListDone(ListDone{Duration: d.took, Err: eff.err})
	case replace:
		return d.replace(eff)
	case collect:
		d.collected.add(d.event)
	case probe:
		d.op = start(d.hooked(ctx), false, runProbe(d.lw))
	case apply:
		return d.apply(d.event)
	case resync:
		return d.sink.Resync()
	case hangUp:
		d.hangUp(eff.err)
	case bookmark:
		d.trace.Bookmark(eff.version)
	case relist:
		d.distrust(eff.reason)
		d.trace.Relist(Relist{ResourceVersion: d.state.resume, Reason: eff.reason, Err: eff.err})
	case backoff:
		d.trace.Backoff(Backoff{Delay: eff.delay, Reason: eff.reason, Err: eff.err})
	case problem:
		d.trace.Problem(Problem{Class: eff.class, Key: d.event.Meta.Key, Err: eff.err})
	}
	return nil
}

// replace gives the list to the sink. An object that is in the list but cannot be
// used stays in the sink as it was: it has not been deleted.
func (d *driver[T]) replace(eff replace) error {
	if d.list == nil {
		d.list, d.collected = d.collected.list(eff.version), nil
		d.took, d.serves = time.Since(d.op.started), d.op.serves
	}
	items := d.list.Items
	for _, bad := range d.list.Errors {
		if obj, held, ok := d.holds(bad.Meta.Key); ok && (held.UID == bad.Meta.UID || bad.Meta.UID == "") {
			items = append(items, obj)
		}
	}
	err := d.sink.Replace(items, eff.version)
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
		return fmt.Errorf("replace the sink's objects with a list of %d at resourceVersion %s: %w", len(items), eff.version, err)
	}
	d.mark()
	d.distrusted = false
	d.endVerification()
	d.quarantine.relisted(d.list.Errors, time.Now())
	d.board.quarantined(d.quarantine.list())
	if d.board.listApplied(d.serves) {
		d.trace.Synced()
	}
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
		if errors.Is(err, errSilent) {
			d.trace.ListDone(ListDone{Duration: time.Since(op.started), Err: err})
			d.failed(err)
		}
		return
	}
	reason := classify(err)
	if !op.open {
		reason = requestReason(err)
	}
	if reason != Closed && reason != Asked {
		d.failed(err)
	}
	d.trace.WatchEnd(WatchEnd{
		ResourceVersion: d.state.resume,
		Reason:          reason,
		Err:             err,
		Events:          op.events,
		Duration:        time.Since(op.started),
	})
}

// failed takes note of a failure, and asks whether to go on after it.
func (d *driver[T]) failed(err error) {
	now := time.Now()
	since := d.board.failed(err, now)
	if d.fatal == nil {
		return
	}
	if outage := (&Outage{Since: since, Err: err}); d.fatal(outage) {
		d.end = outage
	}
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
