package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	have    *record   // as the server was last seen to have it; nil if nobody has seen one
	since   time.Time // when it was first seen so, by the steady clock
	gone    bool      // have was deleted
	stale   bool      // the server may have another one than have
	mine    bool      // the server may have one that this process has written
	last    *term     // that the log was told of
	failing bool      // the log was told that requests fail

	mu       sync.Mutex
	term     *term         // nil if this process does not lead
	began    chan struct{} // closed when a term begins
	inFlight int           // writes that the gate has let begin, in all terms
	idle     chan struct{} // if not nil: closed when no write is in flight
}

var errReleased = errors.New("it was released")

// run gets and keeps the lease until ctx ends, and then releases it.
func (e *election) run(ctx context.Context) {
	for ctx.Err() == nil {
		wait, err := e.attempt(ctx)
		t := e.leading()
		e.tell(ctx, t, err)
		var over chan struct{}
		if t != nil {
			over = t.over
		}
		select {
		case <-time.After(wait):
		case <-over:
		case <-ctx.Done():
		}
	}
	e.release(context.WithoutCancel(ctx))
}

// attempt tries once to get or to keep the lease, and returns when to try again.
func (e *election) attempt(ctx context.Context) (again time.Duration, err error) {
	poll, limit := e.about(e.duration/15), e.duration/3
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
			e.end(t, fmt.Errorf("%s has it", e.have.Spec.Holder))
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
		return e.about(e.duration / 6), nil
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err): // somebody else was faster
		return poll, nil
	}
	return poll, err
}

// about keeps processes from asking at the same time.
func (e *election) about(d time.Duration) time.Duration {
	return time.Duration((0.8 + 0.4*e.rand()) * float64(d))
}

// look asks the server what it has.
func (e *election) look(ctx context.Context) error {
	got, _, err := e.get.Get(ctx, e.key)
	e.gone = apierrors.IsNotFound(err)
	if err != nil && !e.gone {
		return err
	}
	if !e.gone {
		e.saw(got)
	}
	e.stale = false
	return nil
}

// saw notes what the server has. The time is that of the answer: whoever has renewed the lease sent
// that earlier, and so stops earlier than others count.
func (e *election) saw(got *record) {
	if !reflect.DeepEqual(got, e.have) {
		e.have = got
		e.since, _ = e.now()
	}
}

// taken returns how long to wait for the lease. No time that another process has written counts:
// its clock may be wrong. One that was deleted is still held by whoever was seen to have it.
func (e *election) taken() time.Duration {
	if e.have == nil || e.have.Spec.Holder == "" || e.have.Spec.Holder == e.identity {
		return 0
	}
	e.mine = false
	held := time.Duration(e.have.Spec.Seconds) * time.Second
	if held <= 0 {
		held = e.duration
	}
	steady, _ := e.now()
	return held - steady.Sub(e.since)
}

// write changes the lease, if it still is as it was seen.
func (e *election) write(ctx context.Context, change func(r *record)) error {
	var written *record
	var err error
	e.mine, e.stale = true, true
	if e.have == nil || e.gone {
		namespace, name, _ := object.SplitKey(e.key) // which New has made
		written, err = e.writer.CreateFrom(ctx, metav1.ObjectMeta{Namespace: namespace, Name: name}, change)
	} else {
		written, err = e.writer.Modify(ctx, e.have, change)
	}
	if err != nil {
		return err
	}
	e.saw(written)
	e.gone, e.stale = false, false
	return nil
}

// release lets another process take the lease at once. A write that is under way, although its
// context has ended, gets some time; then the lease is left to run out.
func (e *election) release(ctx context.Context) {
	idle := e.close(errReleased)
	ctx, cancel := context.WithTimeout(ctx, e.duration/3)
	defer cancel()
	if !e.mine {
		return
	}
	err := ctx.Err()
	select {
	case <-idle:
	case <-ctx.Done():
		err = errors.New("a write is still under way")
	}
	for try := 0; err == nil; try++ {
		if e.stale {
			if err = e.look(ctx); err != nil || e.gone || e.have.Spec.Holder != e.identity {
				break
			}
		}
		_, wall := e.now()
		stamp := metav1.NewMicroTime(wall)
		err = e.write(ctx, func(r *record) { // as client-go does
			r.Spec.Holder, r.Spec.Seconds, r.Spec.Acquired, r.Spec.Renewed = "", 1, &stamp, &stamp
		})
		if err == nil {
			e.log.InfoContext(ctx, "relist: released the lease", "lease", e.key)
			return
		}
		if try == 0 {
			err = nil // the last renewal may have been cut off, and yet have been made
		}
	}
	if err != nil {
		e.log.WarnContext(ctx, "relist: cannot release the lease, so others wait until it has run out", "lease", e.key, "error", err)
	}
}

// tell logs what has changed.
func (e *election) tell(ctx context.Context, t *term, err error) {
	if e.last != nil && e.last != t {
		e.log.WarnContext(ctx, "relist: lost the lease", "lease", e.key, "error", e.last.why)
	}
	if t != nil && e.last != t {
		e.log.InfoContext(ctx, "relist: became the leader", "lease", e.key, "identity", e.identity, "transitions", e.have.Spec.Transitions)
	}
	if err != nil && !e.failing && ctx.Err() == nil {
		e.log.WarnContext(ctx, "relist: requests for the lease fail", slog.String("lease", e.key), slog.Bool("leads", t != nil), slog.Any("error", err))
	}
	e.last, e.failing = t, err != nil
}
