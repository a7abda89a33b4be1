package informer

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/relist-go/relist/internal/visible"
	"github.com/relist-go/relist/reflector"
)

// WaitForSync waits until the store holds the first list. If ctx ends first, it returns a
// [*SyncError], which says what is in the way (for example, that the server refuses the list) and
// since when. If Run ends or has ended before, the error satisfies errors.Is with [ErrStopped]. A
// program may call WaitForSync before Run.
//
// Handlers may get the last objects of the list later: see [Registration.Synced]. Index functions,
// and the functions of [reflector.Trace], must not call WaitForSync.
func (in *Informer[T]) WaitForSync(ctx context.Context) error {
	select {
	case <-in.Synced():
		return nil
	default: // if the informer has synced, return nil, even if ctx has ended
	}
	select {
	case <-in.Synced():
		return nil
	case <-in.ended:
		if in.HasSynced() {
			return nil
		}
		return fmt.Errorf("informer: wait for the first list: %w", ErrStopped)
	case <-ctx.Done():
		return &SyncError{Status: in.Status(), Objects: in.store.Len(), Waiting: in.queue.Len(), At: time.Now(), Err: ctx.Err()}
	}
}

// SyncError is the error of [Informer.WaitForSync] if its context has ended.
type SyncError struct {
	// Status is that of the reflector. Its LastError is the last failure, and FailingSince says
	// since when requests have failed.
	Status reflector.Status

	// Objects is the number of objects in the store. Waiting is the number of objects in the queue,
	// with changes that are not in the store yet. Both are zero until the whole list has come.
	Objects, Waiting int

	// At is when the wait ended.
	At time.Time

	// Err is the error of the context.
	Err error
}

// Unwrap returns the error of the context and the last failure. So errors.Is finds
// context.DeadlineExceeded, and apierrors.IsForbidden finds the refusal of a server.
func (e *SyncError) Unwrap() []error {
	if e.Status.LastError == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Status.LastError}
}

// Error is one line, whatever a server has written.
func (e *SyncError) Error() string {
	return fmt.Sprintf("informer: not synced: %v: %s", e.Err, e.why())
}

// why says what the informer waits for, and what has failed.
func (e *SyncError) why() string {
	var b strings.Builder
	b.WriteString(e.doing())
	s := e.Status
	switch {
	case s.LastError == nil:
	case s.FailingSince.IsZero():
		fmt.Fprintf(&b, "; the last failure was %v ago: %s", e.ago(s.LastErrorTime), visible.OneLine(s.LastError.Error()))
	default:
		fmt.Fprintf(&b, "; requests have failed for %v, the last one %v ago: %s",
			e.ago(s.FailingSince), e.ago(s.LastErrorTime), visible.OneLine(s.LastError.Error()))
	}
	return b.String()
}

// doing says what the informer waits for.
func (e *SyncError) doing() string {
	s := e.Status
	switch {
	case s.Synced:
		return fmt.Sprintf("the list has come, %d of its objects are in the store, and %d wait for it", e.Objects, e.Waiting)
	case s.Started.IsZero():
		return "Run was not called"
	case s.State == reflector.Waiting:
		return fmt.Sprintf("the next request is sent in %v", s.NextRetry.Sub(e.At).Round(time.Millisecond))
	case s.State == reflector.Stopped:
		return "Run is about to end"
	case s.LastByte.Before(s.Since):
		return fmt.Sprintf("the list was asked for %v ago, and nothing has come", e.ago(s.Since))
	}
	return fmt.Sprintf("the list was asked for %v ago, and is coming: the last byte came %v ago", e.ago(s.Since), e.ago(s.LastByte))
}

func (e *SyncError) ago(t time.Time) time.Duration { return e.At.Sub(t).Round(time.Millisecond) }

// LateError is the error of [MultiNamespace.WaitForSync] if its context has ended, and of
// [Group.WaitForSync] if that or the group has.
type LateError struct {
	Of   int          // how many namespaces or members were waited for
	Late []LateMember // those that have not synced, by name; at least one

	what string // they are
}

// A LateMember is a namespace of a [MultiNamespace], or a member of a [Group], that has not synced.
type LateMember struct {
	Name string
	Err  error // a [*SyncError], unless it is a member of a Group that is no [Informer]
}

// maxLateNamed is how many members the text of a LateError names.
const maxLateNamed = 10

// Error is one line. It names the first ten that are late.
func (e *LateError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "informer: %d of %d %s have not synced", len(e.Late), e.Of, e.what)
	for i, late := range e.Late {
		if i == maxLateNamed {
			fmt.Fprintf(&b, "; and %d more", len(e.Late)-i)
			break
		}
		fmt.Fprintf(&b, "%s%s: %v", []string{": ", "; "}[min(i, 1)], late.Name, late.Err)
	}
	return b.String()
}

// Unwrap returns the errors of those that are late, so that errors.Is finds
// context.DeadlineExceeded, and apierrors.IsForbidden finds the refusal of one of them.
func (e *LateError) Unwrap() []error {
	all := make([]error, len(e.Late))
	for i, late := range e.Late {
		all[i] = late.Err
	}
	return all
}
