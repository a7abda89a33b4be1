package watchcache

import (
	"context"
)

// WatchQuery is a watch request.
type WatchQuery struct {
	Selection

	// Version is where the watch begins. 0 is the present state.
	Version uint64

	// Wait says that the watch begins only when the cache has reached Version. A client asks for it
	// with sendInitialEvents, true or false, and kube-apiserver answers a client that does not at
	// once.
	Wait bool

	// Initial says that the watch begins with an event for each object of the present state.
	Initial bool
}

// A Watcher is an open watch: a position in the cache's window. It is for one goroutine.
type Watcher struct {
	cache *Cache
	sel   Selection

	pos     uint64 // every change up to this version was returned or is not selected
	start   uint64
	filled  int
	initial *Page

	trigger trigger
	signal  *signal
	quiet   uint64 // if the watch has reached this version, no change from there on is for it until the signal is closed
}

// Watch begins a watch. Its errors are those of [Cache.List], and a 410 if the window begins after
// the version.
func (c *Cache) Watch(ctx context.Context, q WatchQuery) (*Watcher, error) {
	var wait uint64
	if q.Wait || q.Initial {
		wait = q.Version
	}
	if err := c.rlock(ctx, wait); err != nil {
		return nil, err
	}
	defer c.mu.RUnlock()
	w := &Watcher{cache: c, sel: q.Selection, pos: q.Version, filled: c.filled, trigger: q.trigger()}
	switch {
	case q.Initial:
		w.pos = c.version
		w.initial = state{version: c.version, now: c.states.Snapshot()}.page(q.Selection, "", 0)
	case q.Version == 0:
		w.pos = c.version
	case q.Version < c.window.floor:
		return nil, tooOld(q.Version, c.window.floor)
	}
	w.start = w.pos
	return w, nil
}

// Initial returns the objects of the first state, once. The bookmark that ends them has the
// watcher's version.
func (w *Watcher) Initial() []Object {
	if w.initial == nil {
		return nil
	}
	objects := w.initial.Objects
	w.initial = nil
	return objects
}

// Next returns the events of up to limit further changes. There may be fewer events, or none,
// because the watch does not select all changes; more says that further changes wait already. If
// none do, wait for [Watcher.Changed], which has to be called before Next. The errors are [ErrSlow]
// and [ErrRestarted]; the watch is over then.
func (w *Watcher) Next(limit int) (events []Event, more bool, err error) {
	changes, more, err := w.take(limit)
	for _, c := range changes {
		if e, ok := w.event(c); ok {
			events = append(events, e)
		}
	}
	return events, more, err
}

// Changed returns a channel that is closed at the next change that the watch may select, or when
// the watch is over. A watch that selects one name, one node or one namespace does not wake for
// changes of others.
func (w *Watcher) Changed() <-chan struct{} {
	c := w.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	w.skip()
	if w.signal == nil || w.signal.closed {
		w.signal, w.quiet = c.signals.join(w.trigger), c.version
	}
	return w.signal.done
}

// skip moves the position over the changes that are not for the watch, as the signal says. The
// caller holds a lock.
func (w *Watcher) skip() {
	switch {
	case w.signal == nil || w.pos < w.quiet || w.filled != w.cache.filled:
	case w.signal.closed:
		w.pos = max(w.pos, w.signal.version-1)
	default:
		w.pos = max(w.pos, w.cache.version)
	}
}

// Close ends the watch. It is needed after [Watcher.Changed], because the cache remembers who
// waits.
func (w *Watcher) Close() {
	w.cache.mu.Lock()
	defer w.cache.mu.Unlock()
	if w.signal != nil {
		w.cache.signals.leave(w.trigger, w.signal)
		w.signal = nil
	}
}

// take returns the next changes, and moves the position behind them.
func (w *Watcher) take(limit int) (changes []*change, more bool, err error) {
	c := w.cache
	c.mu.RLock()
	defer c.mu.RUnlock()
	w.skip()
	switch {
	case w.filled != c.filled:
		return nil, false, ErrRestarted
	case w.pos >= c.version:
		return nil, false, nil // nothing is new, or the watch begins in the future
	case w.pos < c.window.lost:
		return nil, false, ErrSlow
	}
	changes = c.window.after(w.pos)
	if len(changes) <= limit {
		w.pos = c.version
	} else if changes, more = changes[:limit], true; limit > 0 {
		w.pos = changes[limit-1].version
	}
	return append([]*change(nil), changes...), more, nil // the window clears what leaves it
}

// event returns what the watch gets of a change. An object that enters the selection is ADDED, and
// one that leaves it is DELETED, with the last state that was selected.
func (w *Watcher) event(c *change) (Event, bool) {
	if w.sel.Namespace != "" && c.after.GetNamespace() != w.sel.Namespace {
		return Event{}, false // this is fast, and true of most changes, so the selectors are not tried
	}
	before, after := w.sel.Matches(c.before), !c.deleted && w.sel.Matches(c.after)
	switch {
	case before && after:
		return Event{Modified, c.after, &c.frames}, true
	case after:
		return Event{Added, c.after, &c.frames}, true
	case before && c.deleted:
		return Event{Deleted, c.after, &c.frames}, true
	case before:
		return Event{Deleted, c.before.At(c.version), &c.frames}, true
	}
	return Event{}, false
}

// Version returns the version that the watch has reached.
func (w *Watcher) Version() uint64 { return w.pos }

// Moved reports whether the watch has reached a newer version than that at which it began, so that
// a bookmark says something.
func (w *Watcher) Moved() bool { return w.pos > w.start }
