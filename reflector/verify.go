package reflector

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/store"
)

// Verify has a reflector compare what its sink holds with the server, now and then. A
// server that loses an event in its cache never says so; clients keep a deleted object
// for ever (https://github.com/kubernetes/kubernetes/issues/123072).
//
// The comparison is of keys, UIDs and versions, by a list of metadata alone. That is
// 4.3 KB for a Pod as a cluster has them, most of it managedFields, and 0.6 KB for a
// small ConfigMap: 20,000 Pods compared once an hour cost 86 MB an hour. What differs
// is reported and repaired by a list, that is by ordinary deltas.
type Verify struct {
	// Every is the period; up to a tenth of it is added at random. If zero or
	// negative, nothing is compared.
	Every time.Duration

	// Metadata lists the same objects as the reflector does:
	// listwatch.Resource.Metadata returns it.
	Metadata listwatch.ListWatcher[*metav1.PartialObjectMetadata]
}

// Held is what a Sink implements besides [Known] so that it can be verified.
// deltafifo.Queue and store.Store do.
type Held interface {
	// Keys returns the keys of all objects that there will be once the sink has worked
	// off what it was given.
	Keys() []string
}

// errDiffers is in the problem of an object that differs from the server's.
var errDiffers = errors.New("differs from the server")

// verification is one comparison in progress.
type verification struct {
	op *operation[*metav1.PartialObjectMetadata] // nil once the list has come

	// touched are the keys that events have come for since the list was asked for:
	// of these it says nothing.
	touched map[string]bool

	// list is what has come. It is compared once the sink has come to its version.
	list    *listwatch.List[*metav1.PartialObjectMetadata]
	started time.Time
}

// verifiable reports whether the options and the sink allow for a comparison.
func (d *driver[T]) verifiable() bool {
	_, held := d.sink.Sink.(Held)
	return d.check.Every > 0 && d.check.Metadata != nil && d.known != nil && held
}

// verify begins a comparison when its time has come, and ends it when its list can be
// compared.
func (d *driver[T]) verify(ctx context.Context) {
	watching, ok := d.state.phase.(watching)
	if !ok || !watching.open {
		return
	}
	v := d.verification
	switch {
	case v == nil && due(time.Now(), d.verifyAt):
		d.verification = d.startVerification(ctx)
	case v != nil && v.list != nil && !older(d.state.resume, v.list.ResourceVersion):
		d.verification = nil
		d.postponeVerification()
		d.compare(ctx, v)
	}
}

// postponeVerification sets the time of the next comparison.
func (d *driver[T]) postponeVerification() {
	if d.verifiable() {
		jitter := time.Duration(d.state.rand() * float64(d.check.Every) / 10)
		d.verifyAt = time.Now().Add(d.check.Every + jitter)
	}
}

// startVerification asks for the metadata at the resume point exactly, which no change
// can blur. Where the server does not have that version any more, a later one does.
func (d *driver[T]) startVerification(ctx context.Context) *verification {
	version, lw := d.state.resume, d.check.Metadata
	return &verification{
		touched: map[string]bool{},
		started: time.Now(),
		op: start(d.hooked(ctx), false, func(ctx context.Context, o *operation[*metav1.PartialObjectMetadata]) {
			list, err := listwatch.All(ctx, lw, metav1.ListOptions{
				ResourceVersion:      version,
				ResourceVersionMatch: metav1.ResourceVersionMatchExact,
				Limit:                defaultPageSize,
			})
			if err != nil {
				list, err = listwatch.All(ctx, lw, metav1.ListOptions{ResourceVersion: version})
			}
			if err != nil {
				o.send(ctx, message[*metav1.PartialObjectMetadata]{in: listFailed{err: err}})
				return
			}
			o.send(ctx, message[*metav1.PartialObjectMetadata]{list: list})
		}),
	}
}

// metadataCame takes the list of a verification, or its failure.
func (d *driver[T]) metadataCame(m message[*metav1.PartialObjectMetadata]) {
	v := d.verification
	v.op.stop()
	v.op, v.list = nil, m.list
	if failed, ok := m.in.(listFailed); ok {
		d.verification = nil
		d.postponeVerification()
		d.trace.Problem(Problem{Class: ListProblem, Err: fmt.Errorf("verify: %w", failed.err)})
	}
}

// endVerification gives a comparison up: a list brings everything anyway.
func (d *driver[T]) endVerification() {
	if v := d.verification; v != nil && v.op != nil {
		v.op.stop()
	}
	d.verification = nil
	d.postponeVerification()
}

// compare reports every object that differs, and lists if there is one.
func (d *driver[T]) compare(ctx context.Context, v *verification) {
	var differ []Problem
	report := func(key, format string, args ...any) {
		if v.touched[key] || d.quarantine.patients[key] != nil {
			return
		}
		differ = append(differ, Problem{Class: DriftProblem, Key: key, Err: fmt.Errorf("%w: "+format, append([]any{errDiffers}, args...)...)})
	}
	listed := make(map[string]bool, len(v.list.Items))
	for _, obj := range v.list.Items {
		key := store.Key(obj)
		listed[key] = true
		_, held, ok := d.holds(key)
		switch {
		case !ok:
			report(key, "it is there at %s, and is not held", obj.ResourceVersion)
		case held.UID != obj.UID:
			report(key, "its UID is %s, and %s is held", obj.UID, held.UID)
		case held.ResourceVersion != "" && held.ResourceVersion != obj.ResourceVersion:
			// Also a newer one: it may be of a history that a backup has undone. A
			// transform that clears versions leaves only UIDs to compare.
			report(key, "it is at %s, and is held at %s", obj.ResourceVersion, held.ResourceVersion)
		}
	}
	for _, key := range d.sink.Sink.(Held).Keys() { // verifiable has seen to it
		if !listed[key] {
			report(key, "it is not there, and is held")
		}
	}
	for _, problem := range differ {
		d.trace.Problem(problem)
	}
	d.trace.Verified(Verified{Objects: len(v.list.Items), Differences: len(differ), Duration: time.Since(v.started)})
	if len(differ) > 0 {
		d.distrusted = true // the server may have another history, where a version says nothing
		d.feed(ctx, time.Now(), listWanted{})
	}
}
