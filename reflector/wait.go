package reflector

import (
	"context"
	"fmt"

	"github.com/relist-go/relist/object"
)

// WaitForVersion waits until the sink has everything up to a resourceVersion. If a program passes
// the version that a write returned, it can read its own write afterwards. If ctx ends first,
// WaitForVersion returns ctx.Err(). If the version is not a decimal number, WaitForVersion returns
// an error immediately, because such versions cannot be compared.
//
// If the sink is a queue, its consumer may not have taken the change yet. If no watch is open,
// WaitForVersion waits for the next one. WaitForVersion does not wait for objects in quarantine;
// Status names them.
//
// The resume version moves with events and bookmarks. If a selector or the namespace leaves
// the written object out, no event comes, and WaitForVersion waits for the next bookmark, usually
// up to a minute. [Reflector.Relist] does not wait for that.
func (r *Reflector[T]) WaitForVersion(ctx context.Context, version string) error {
	if !object.IsComparable(version) {
		return fmt.Errorf("reflector: wait for resourceVersion %q: want a decimal number, as a server gave it", version)
	}
	return r.shared.await(ctx, func(s *shared) bool { return s.machine.Reached(version) })
}

// Relist makes the reflector list again now, whatever it is doing, and waits until the
// sink has the list. If a list is in progress, another one follows, because the first may
// have begun before a change that the caller knows of. Every object of the list is
// decoded, even if the sink holds it in the same version. If ctx ends first, Relist
// returns ctx.Err(), and the reflector lists nevertheless. If Run is not running, Relist
// also waits for Run.
func (r *Reflector[T]) Relist(ctx context.Context) error {
	want := r.shared.newTicket()
	select {
	case r.relists <- struct{}{}:
	default: // a call before this one has put a token there, and the driver has not taken it yet
	}
	return r.shared.await(ctx, func(s *shared) bool { return s.machine.Served >= want })
}

// newTicket numbers a call of Relist.
func (s *shared) newTicket() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tickets++
	return s.tickets
}

// lastTicket returns the number of the newest call of Relist.
func (s *shared) lastTicket() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tickets
}

// await waits until holds returns true. It calls holds with mu locked.
func (s *shared) await(ctx context.Context, holds func(*shared) bool) error {
	for {
		s.mu.Lock()
		if holds(s) {
			s.mu.Unlock()
			return nil
		}
		changed := s.change()
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
