package reflector

import (
	"context"
	"fmt"

	"github.com/relist-go/relist/object"
)

// WaitFor waits until the sink has everything up to a resourceVersion: the one that
// a write returned, say, so that the program reads its own write. It returns
// ctx.Err() if ctx ends before, and at once an error for a version that is not a
// decimal number, because no other can be compared with it.
//
// The copy may lag behind its sink: a queue's consumer has yet to take the entry.
// What is written while no watch is open is waited for all the same. An object in
// quarantine is not: Status names it.
//
// The server tells of a version with an event or a bookmark. If the write concerns an
// object that a selector or the namespace leaves out, no event comes, and WaitFor waits
// for the next bookmark, up to a minute as a rule. [Reflector.Relist] does not wait.
func (r *Reflector[T]) WaitFor(ctx context.Context, version string) error {
	if !object.Ordered(version) {
		return fmt.Errorf("reflector: wait for resourceVersion %q: want a decimal number, as a server gave it", version)
	}
	return r.board.await(ctx, func(b *board) bool { return b.machine.Reached(version) })
}

// Relist has the reflector list again now, whatever it is doing, and waits until the
// sink has the list. A list that is in progress is not good enough, for it may have
// begun before something that the caller knows of. Every object of the list is decoded,
// also those that the sink holds in the same version. It returns ctx.Err() if ctx ends
// before, also if that is because Run was not called; the list is made all the same.
func (r *Reflector[T]) Relist(ctx context.Context) error {
	want := r.board.newTicket()
	select {
	case r.relists <- struct{}{}:
	default: // one is asked for already, and has not begun
	}
	return r.board.await(ctx, func(b *board) bool { return b.machine.Served >= want })
}

// newTicket numbers a call of Relist.
func (b *board) newTicket() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tickets++
	return b.tickets
}

// lastTicket returns the number of the newest call of Relist.
func (b *board) lastTicket() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tickets
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
