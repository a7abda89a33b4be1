package lease

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/object"
)

// election gets the lease and keeps it, as long as a Lead runs.
type election struct {
	*Lease

	leads int // that run; under Lease.mu
	stop  context.CancelFunc
	done  chan struct{} // closed when run has ended
	err   error         // why, if nobody has called stop

	// Only the goroutine of run uses these.
	have  *record   // as the server was last seen to have it; nil if nobody has seen one
	until time.Time // when whoever else was last seen to have it has stopped, by the steady clock
	gone  bool      // have was deleted
	stale bool      // the server may have another one than have
	wrote bool      // the server may have one of this process

	mu       sync.Mutex
	term     *term         // nil if this process does not lead
	began    chan struct{} // closed when a term begins
	inFlight int           // writes that the gate has let begin, in all terms
	idle     chan struct{} // closed when none is in flight and none begins again
	closed   bool          // none begins again
}

// run gets and keeps the lease until ctx ends, and then releases it.
func (e *election) run(ctx context.Context) {
	var last *term
	failing := false // as the log was told
	for ctx.Err() == nil {
		again, err := e.attempt(ctx)
		t := e.leading()
		if last != nil && last != t {
			e.log.WarnContext(ctx, "relist: lost the lease", "lease", e.key, "error", last.why)
		}
		if t != nil && last != t {
			e.log.InfoContext(ctx, "relist: became the leader", "lease", e.key, "identity", e.identity, "transitions", e.have.Spec.Transitions)
		}
		if err != nil && !failing && ctx.Err() == nil {
			e.log.WarnContext(ctx, "relist: requests for the lease fail", "lease", e.key, "leads", t != nil, "error", err)
		}
		last, failing = t, err != nil
		var over chan struct{}
		if t != nil {
			over = t.over
		}
		select {
		case <-time.After(again):
		case <-over:
		case <-ctx.Done():
		}
	}
	e.release(context.WithoutCancel(ctx))
}

// attempt tries once to get or to keep the lease, and returns when to try again. It takes no longer
// than the term lasts.
func (e *election) attempt(ctx context.Context) (again time.Duration, err error) {
	apart := 0.8 + 0.4*e.rand() // so that processes do not ask at the same time
	poll, limit := time.Duration(apart*float64(e.duration/15)), e.duration/3
	t := e.leading()
	if t != nil {
		limit = min(limit, t.left())
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if t == nil || e.stale {
		if err := e.look(ctx); err != nil {
			return poll, err
		}
		if wait := e.taken(); wait > 0 {
			e.finish(errors.New(e.have.Spec.Holder + " has it"))
			return min(wait, poll), nil
		}
	}
	steady, wall := e.now()
	stamp := metav1.NewMicroTime(wall)
	err = e.write(ctx, func(r *record) {
		if r.Spec.Holder != e.identity && e.have != nil {
			r.Spec.Transitions = e.have.Spec.Transitions + 1
		}
		if t == nil {
			r.Spec.Acquired = &stamp
		}
		r.Spec.Holder, r.Spec.Seconds, r.Spec.Renewed = e.identity, int32(e.duration/time.Second), &stamp
	})
	switch {
	case err == nil:
		e.renewed(steady, wall)
		return time.Duration(apart * float64(e.duration/6)), nil
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err): // somebody else was faster
		return poll, nil
	}
	return poll, err
}

// look asks the server what it has.
func (e *election) look(ctx context.Context) error {
	got, _, err := e.get.Get(ctx, e.key)
	if e.gone = apierrors.IsNotFound(err); !e.gone {
		if err != nil {
			return err
		}
		e.saw(got)
	}
	e.stale = false
	return nil
}

// saw notes what the server has. The time is that of the answer: whoever has renewed the lease sent
// that earlier, and so stops earlier than others count. No time that another process has written
// counts: its clock may be wrong. If the lease comes back to this process, from a restored backup,
// the last holder may not know it yet.
func (e *election) saw(got *record) {
	if reflect.DeepEqual(got, e.have) {
		return
	}
	e.have = got
	switch got.Spec.Holder {
	case "":
		e.until = time.Time{}
	case e.identity:
	default:
		steady, _ := e.now()
		e.until = steady.Add(max(time.Duration(got.Spec.Seconds)*time.Second, e.duration))
	}
}

// taken returns how long to wait for the lease. One that was deleted is still held by whoever was
// seen to have it.
func (e *election) taken() time.Duration {
	steady, _ := e.now()
	return e.until.Sub(steady)
}

// write changes the lease, if it still is as it was seen.
func (e *election) write(ctx context.Context, change func(r *record)) (err error) {
	var written *record
	e.wrote, e.stale = true, true
	if e.have == nil || e.gone {
		namespace, name, _ := object.SplitKey(e.key) // which New has made
		written, err = e.writer.CreateFrom(ctx, metav1.ObjectMeta{Namespace: namespace, Name: name}, change)
	} else {
		written, err = e.writer.Modify(ctx, e.have, change)
	}
	if err == nil {
		e.saw(written)
		e.gone, e.stale = false, false
	}
	return err
}

// release lets another process take the lease at once. A write that is under way, although its
// context has ended, gets some time; then the lease is left to run out.
func (e *election) release(ctx context.Context) {
	e.close()
	if !e.wrote {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, e.duration/3)
	defer cancel()
	err := errors.New("a write is still under way")
	select {
	case <-e.idle:
		err = e.look(ctx) // the last renewal may have been cut off, and yet have been made
	case <-ctx.Done():
	}
	if err == nil && (e.gone || e.have.Spec.Holder != e.identity) {
		return
	}
	if err == nil {
		_, wall := e.now()
		stamp := metav1.NewMicroTime(wall)
		err = e.write(ctx, func(r *record) { // as client-go does
			r.Spec.Holder, r.Spec.Seconds, r.Spec.Acquired, r.Spec.Renewed = "", 1, &stamp, &stamp
		})
	}
	if err != nil {
		e.log.WarnContext(ctx, "relist: cannot release the lease", "lease", e.key, "error", err)
		return
	}
	e.log.InfoContext(ctx, "relist: released the lease", "lease", e.key)
}
