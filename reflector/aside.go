package reflector

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/listwatch"
)

// errUnknownSink is reported when an object was deleted that cannot be decoded, and
// the sink does not say what it holds: there is nothing to call Delete with.
var errUnknownSink = errors.New("the object that was deleted cannot be decoded, and the sink does not say what it holds (reflector.Known)")

// examine prepares an event that is no bookmark for the machine: it says whether
// there is an object to apply, and puts a bad one aside.
func (d *driver[T]) examine(in event) input {
	e := d.event
	if older(in.version, d.state.resume) {
		in.news = d.isNews(e)
		if !in.news {
			return in // nothing to apply
		}
	}
	if d.quarantine.overtaken(e) || unanchored(d.state.resume) && d.overtaken(e) {
		in.withheld = true
		return in
	}
	if e.Err == nil {
		return in
	}
	if e.Type != listwatch.Deleted || e.Meta.Key == "" {
		in.withheld = true
		d.setAside(e.Meta, e.Err)
		return in
	}
	// A deletion needs no more than a name: what is deleted is what the sink holds.
	if d.known == nil {
		return sinkFailed{
			err:    fmt.Errorf("apply DELETED of %s: %w: %w", e.Meta.Key, errUnknownSink, e.Err),
			anchor: d.state.anchor,
		}
	}
	_, _, held := d.holds(e.Meta.Key)
	in.withheld = !held
	d.wellAgain(e.Meta.Key)
	return in
}

// overtaken reports whether the sink holds a later version of the object than an event
// is about. Where there is a resume point no event gets here that is, but those of
// which the quarantine knows.
func (d *driver[T]) overtaken(e listwatch.Event[T]) bool {
	_, held, ok := d.holds(e.Meta.Key)
	return ok && held.UID == e.Meta.UID && older(e.Meta.ResourceVersion, held.ResourceVersion)
}

// setAside reports an object that there is no good version of, and puts it into
// quarantine.
func (d *driver[T]) setAside(meta listwatch.Meta, err error) {
	d.trace.Problem(Problem{Class: ObjectProblem, Key: meta.Key, Err: err})
	if meta.Key == "" {
		return // nothing to know it by
	}
	d.quarantine.admit(meta, err, nil, time.Now())
	d.board.quarantined(d.quarantine.list())
}

// putAside puts an object into quarantine whose event the sink has refused. It
// returns the error if the sink refuses so many that they are not what is wrong.
func (d *driver[T]) putAside(e listwatch.Event[T], err error) error {
	if d.quarantine.admit(e.Meta, err, &e, time.Now()) {
		d.trace.Problem(Problem{Class: SinkProblem, Key: e.Meta.Key, Err: err})
	}
	d.board.quarantined(d.quarantine.list())
	if d.quarantine.refused() > maxRefused {
		return err
	}
	return nil
}

// wellAgain takes note that the sink has the latest of an object, or that the object
// is gone.
func (d *driver[T]) wellAgain(key string) {
	if d.quarantine.release(key) {
		d.board.quarantined(d.quarantine.list())
	}
}

// treat looks after the patient whose time has come: it gives the sink a second
// chance, or fetches the object again. It does nothing during a list, which brings
// everything.
func (d *driver[T]) treat(ctx context.Context) {
	if d.tooBusy() {
		return
	}
	p := d.quarantine.due(time.Now())
	switch {
	case p == nil:
	case p.refused != nil:
		d.again(p)
	default:
		key := p.Meta.Key
		d.patient = p
		d.quarantine.nextGet = time.Now().Add(getPause)
		d.visit = start(d.hooked(ctx), false, func(ctx context.Context, o *operation[T]) {
			obj, meta, err := d.fetch(ctx, key)
			o.send(ctx, message[T]{event: asEvent(obj, meta, err)})
		})
	}
}

// tooBusy reports whether patients have to wait.
func (d *driver[T]) tooBusy() bool {
	switch d.state.phase.(type) {
	case listing, streaming:
		return true
	}
	return d.visit != nil
}

// again offers the sink an event that it has refused.
func (d *driver[T]) again(p *patient[T]) {
	e := *p.refused
	if err := d.give(e); err != nil {
		p.Err = err
		d.quarantine.postpone(p, time.Now())
		d.board.quarantined(d.quarantine.list())
		return
	}
	d.wellAgain(e.Meta.Key)
	d.trace.Event(Event{Type: e.Type, Key: e.Meta.Key, UID: e.Meta.UID, ResourceVersion: e.Meta.ResourceVersion})
}

// asEvent is the answer to a Get as an event.
func asEvent[T any](obj T, meta listwatch.Meta, err error) listwatch.Event[T] {
	e := listwatch.Event[T]{Type: listwatch.Modified, Object: obj, Meta: meta}
	if err != nil {
		e.Err = &listwatch.ObjectError{Meta: meta, Err: err}
	}
	return e
}

// visited takes the answer to a Get, and returns what the machine is to know of it. It
// is of no use if an event has come for the object meanwhile.
func (d *driver[T]) visited(e listwatch.Event[T]) input {
	p := d.patient
	d.endVisit()
	if d.quarantine.patients[p.Meta.Key] != p {
		return nil
	}
	if e.Err != nil {
		if !apierrors.IsNotFound(e.Err) {
			p.Err = e.Err.Err
		}
		// If it is not there, its DELETED is on the way.
		d.quarantine.postpone(p, time.Now())
		d.board.quarantined(d.quarantine.list())
		return nil
	}
	_, held, ok := d.holds(e.Meta.Key)
	switch {
	case !ok:
		e.Type = listwatch.Added
	case !another(held.UID, e.Meta.UID) && !older(held.ResourceVersion, e.Meta.ResourceVersion):
		d.wellAgain(e.Meta.Key)
		return nil
	}
	if older(d.state.resume, e.Meta.ResourceVersion) {
		d.quarantine.ahead[e.Meta.Key] = e.Meta.ResourceVersion
	}
	// An error means that the sink refuses too much; the next event will say so.
	_ = d.apply(e)
	return fetched{version: e.Meta.ResourceVersion}
}

// endVisit gives the fetching of an object up.
func (d *driver[T]) endVisit() {
	if d.visit != nil {
		d.visit.stop()
		d.visit, d.patient = nil, nil
	}
}
