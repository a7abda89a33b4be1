package reflector

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// WaitFor waits until the sink has everything up to a resourceVersion: the one that
// a write returned, say, so that the program reads its own write. It returns
// ctx.Err() if ctx ends before, and at once an error for a version that is not a
// decimal number, with which no other can be compared.
//
// The copy may lag behind its sink: a queue's consumer has yet to take the entry.
// What is written while no watch is open is waited for all the same. An object in
// quarantine is not: Status names it.
func (r *Reflector[T]) WaitFor(ctx context.Context, version string) error {
	if !wellFormed(version) {
		return fmt.Errorf("reflector: wait for resourceVersion %q: want a decimal number, as a server gave it", version)
	}
	return r.board.await(ctx, func(b *board) bool {
		order, err := resourceversion.CompareResourceVersion(b.status.ResourceVersion, version)
		return err == nil && order >= 0
	})
}

// Relist has the reflector list again now, whatever it is doing, and waits until the
// sink has the list. A list that is in progress is not good enough, for it may have
// begun before something that the caller knows of. It returns ctx.Err() if ctx ends
// before, also when that is because Run was not called; the list is made all the same.
func (r *Reflector[T]) Relist(ctx context.Context) error {
	r.board.mu.Lock()
	r.board.wanted++
	want := r.board.wanted
	r.board.mu.Unlock()
	select {
	case r.relists <- struct{}{}:
	default: // one is asked for already, and has not begun
	}
	return r.board.await(ctx, func(b *board) bool { return b.served >= want })
}

// await waits until holds, which is called with mu held, is true.
func (b *board) await(ctx context.Context, holds func(*board) bool) error {
	for {
		b.mu.Lock()
		if holds(b) {
			b.mu.Unlock()
			return nil
		}
		changed := b.change()
		b.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
