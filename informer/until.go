package informer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// WaitUntil waits until the object of key in the store is as a program wants it. It calls holds
// when the store has synced, and again after changes of that key, until holds returns true. The
// arguments are the object and true, or the zero T and false if there is no such object. If the
// object changes several times at once, holds may see only the latest state.
//
//	err := cache.WaitUntil(ctx, "shop/web-0", func(pod *Pod, exists bool) bool { return exists && pod.Status.Phase == "Running" })
//	err := cache.WaitUntil(ctx, "shop/web-0", func(_ *Pod, exists bool) bool { return !exists })
//
// If ctx ends first, WaitUntil returns ctx.Err(), or a [*SyncError] if the store has not synced. If
// Run ends or has ended, the error satisfies errors.Is with [ErrStopped]. holds runs on the
// goroutine of the caller. Callbacks may call WaitUntil; it does not wait for callbacks. Index
// functions and the functions of [reflector.Trace] must not call it.
func (in *Informer[T]) WaitUntil(ctx context.Context, key string, holds func(obj T, exists bool) bool) error {
	if err := in.WaitForSync(ctx); err != nil {
		return err
	}
	return in.until(ctx, key, holds)
}

// until is WaitUntil of a store that may not have synced.
func (c *cache[T]) until(ctx context.Context, key string, holds func(obj T, exists bool) bool) error {
	changed := c.keyed.add(key)
	defer c.keyed.remove(key, changed)
	for {
		if obj, exists := c.store.Get(key); holds(obj, exists) {
			return nil
		}
		select {
		case <-changed:
		case <-c.ended:
			if obj, exists := c.store.Get(key); changed.take() && holds(obj, exists) {
				return nil // it was the last change before the end
			}
			return fmt.Errorf("informer: wait for a state of %q: %w", key, ErrStopped)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// keyWaiters are the calls of WaitUntil, by key.
type keyWaiters struct {
	count atomic.Int64 // so that the consumer takes no lock if there are none

	mu    sync.Mutex
	byKey map[string][]wakeup
}

func (w *keyWaiters) add(key string) wakeup {
	changed := newWakeup()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byKey == nil {
		w.byKey = map[string][]wakeup{}
	}
	w.byKey[key] = append(w.byKey[key], changed)
	w.count.Add(1)
	return changed
}

func (w *keyWaiters) remove(key string, changed wakeup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.byKey[key] = slices.DeleteFunc(w.byKey[key], func(c wakeup) bool { return c == changed })
	if len(w.byKey[key]) == 0 {
		delete(w.byKey, key)
	}
	w.count.Add(-1)
}

// wake wakes those who wait for a key. The consumer calls it after it has written to the store.
func (w *keyWaiters) wake(key string) {
	if w.count.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, changed := range w.byKey[key] {
		changed.signal()
	}
}
