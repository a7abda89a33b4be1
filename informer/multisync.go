package informer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/relist-go/relist/deltafifo"
)

// HasSynced reports whether the store has the first list of every namespace that there is now. Without namespaces it is true.
func (m *MultiNamespace[T]) HasSynced() bool { return m.hasSynced() }

// WaitForSync waits until the store has the first list of every namespace that the MultiNamespace has at the time of the call. It
// does not wait for a namespace that is removed meanwhile. If ctx ends first, it returns a [*LateError], which names the namespaces
// that are late, and says what is in the way of each (for example, that the server refuses the list) and since when. If Run ends or
// has ended before, the error satisfies errors.Is with [ErrStopped]. A program may call it before Run. It must not be called where
// [Informer.WaitForSync] must not be called.
func (m *MultiNamespace[T]) WaitForSync(ctx context.Context) error {
	feeds := m.current()
	for i, f := range feeds {
		if isClosed(f.synced) {
			continue // even if ctx has ended
		}
		select {
		case <-f.synced:
		case <-f.gone:
		case <-m.ended:
			if !isClosed(f.synced) {
				return fmt.Errorf("informer: wait for the first list of namespace %q: %w", f.namespace, ErrStopped)
			}
		case <-ctx.Done():
			return m.syncError(ctx.Err(), feeds[i:], len(feeds))
		}
	}
	return nil
}

var errNotThere = errors.New("the namespace is not there, or was removed")

// WaitForVersion waits until the store has everything of a namespace up to a resourceVersion, as [Informer.WaitForVersion] does. If
// the namespace is not there or is removed meanwhile, it returns an error.
func (m *MultiNamespace[T]) WaitForVersion(ctx context.Context, namespace, resourceVersion string) error {
	err := errNotThere
	if f := m.feedOf(namespace); f != nil {
		if err = f.queue.WaitForVersion(ctx, resourceVersion); !errors.Is(err, deltafifo.ErrClosed) {
			return err
		}
		if err = ErrStopped; m.feedOf(namespace) != f {
			err = errNotThere
		}
	}
	return fmt.Errorf("informer: wait for resourceVersion %s in namespace %q: %w", resourceVersion, namespace, err)
}

// feedOf returns the feed of a namespace, or nil if the namespace is not there.
func (m *MultiNamespace[T]) feedOf(namespace string) *feed[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.feeds[namespace]
}

func (m *MultiNamespace[T]) syncError(err error, feeds []*feed[T], all int) error {
	e := &LateError{Of: all, what: "namespaces"}
	now := time.Now()
	for _, f := range feeds {
		if isClosed(f.synced) || isClosed(f.gone) {
			continue
		}
		e.Late = append(e.Late, LateMember{f.namespace, &SyncError{
			Status: f.reflector.Status(), Objects: len(m.store.In(f.namespace)), Waiting: f.queue.Len(), At: now, Err: err,
		}})
	}
	if len(e.Late) == 0 {
		return nil // the last list has come just now
	}
	return e
}
