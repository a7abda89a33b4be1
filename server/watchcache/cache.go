package watchcache

import (
	"cmp"
	"sync"
	"time"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/store"
)

// Options of a [Cache]. The zero value is ready: every field that is zero has the default of
// kube-apiserver.
type Options struct {
	// MinEvents and MaxEvents bound the number of changes that the cache keeps. If zero or less,
	// 100 and 102,400.
	MinEvents, MaxEvents int

	// Fresh is for how long a change stays in the window, within these bounds. If zero, 75 seconds.
	Fresh time.Duration

	// Wait is how long a request waits for a version that the cache has not reached. If zero, 3
	// seconds. If negative, it does not wait.
	Wait time.Duration
}

func (o Options) withDefaults() Options {
	if o.MinEvents <= 0 {
		o.MinEvents = 100
	}
	if o.MaxEvents <= 0 {
		o.MaxEvents = 100 * 1024
	}
	o.MaxEvents = max(o.MinEvents, o.MaxEvents)
	o.Fresh = cmp.Or(o.Fresh, 75*time.Second)
	o.Wait = cmp.Or(o.Wait, 3*time.Second)
	return o
}

// A Cache has the states of one resource, and its last changes.
type Cache struct {
	opts   Options
	states *store.Store[Object]

	mu      sync.RWMutex
	ready   bool   // it was filled, and its source has not gone since
	filled  int    // how often it was filled; a watcher ends with the window that it began in
	version uint64 // the states are those at this version
	ahead   uint64 // some states may be as new as this version; see Amend
	window  window
	signals signals       // of the watchers that wait
	changed chan struct{} // closed when the version or the window is another; nil while nobody waits for that
}

// New returns a cache that waits to be filled.
func New(opts Options) *Cache {
	return &Cache{
		opts:    opts.withDefaults(),
		states:  store.New(store.Options[Object]{VersionFromMarks: true}),
		signals: signals{},
	}
}

// Fill makes a list the whole state. A new window begins at its version, and watchers of the window
// before end: nobody knows what happened between the two. The version may be older than before,
// because a storage that was restored from a backup goes back.
func (c *Cache) Fill(version uint64, objects []Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(objects) > 0 || c.states.Len() > 0 {
		if err := c.states.Replace(objects, ""); err != nil {
			return err
		}
	}
	c.ready = true
	c.filled++
	c.version, c.ahead = version, version
	c.window.restart(version)
	c.signals.raiseAll()
	c.wake()
	return nil
}

// Apply makes the next change of the source's log. If it is a deletion, o is the last state, with
// the version of the deletion. A change that is not newer than the cache's version is out of order:
// see [Cache.Amend].
func (c *Cache) Apply(o Object, deleted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.Version() <= c.version {
		c.amend(o, deleted, o.Version())
		return
	}
	c.version = o.Version()
	before, changed := c.put(o, deleted)
	if changed {
		made := &change{version: c.version, before: before, after: o, deleted: deleted, when: time.Now()}
		c.window.add(made, &c.opts)
		c.signals.raise(made)
	}
	c.wake()
}

// Amend makes a change that did not come in the order of the source's log, such as the answer to a
// request for one object. The states are then ahead of the cache's version, up to the version of
// the change: if o is a deletion that was inferred, upTo is the version of the list that shows it,
// otherwise it is o's version.
//
// So the window ends: watchers get [ErrRestarted], and requests wait until the source's log has
// passed that version, because only then the states are again those of one version.
func (c *Cache) Amend(o Object, deleted bool, upTo uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.amend(o, deleted, max(upTo, o.Version()))
}

func (c *Cache) amend(o Object, deleted bool, upTo uint64) {
	if _, changed := c.put(o, deleted); !changed {
		return
	}
	c.ahead = max(c.ahead, upTo, c.version)
	c.filled++
	c.window.restart(c.ahead)
	c.signals.raiseAll()
	c.wake()
}

// put changes the states, unless they have that state of the object, or a newer one. It returns the
// state before, or nil. The caller holds the lock.
func (c *Cache) put(o Object, deleted bool) (before Object, changed bool) {
	before, _ = c.states.Get(object.Key(o)) // nil if there is none
	switch {
	case before == nil && deleted, before != nil && before.Version() >= o.Version():
		return before, false
	case deleted:
		_ = c.states.Delete(o) // an object of the source has a name
	default:
		_ = c.states.Update(o)
	}
	return before, true
}

// Progress says that the states are those at version, too: there was no change since the last one.
func (c *Cache) Progress(version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version > c.version {
		c.version = version
		c.wake()
	}
	c.window.shrink(time.Now(), &c.opts)
}

// Lose says that the source is gone, and that the cache will be filled anew. Until then, requests
// get [ErrNotReady], and watchers end.
func (c *Cache) Lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready = false
	c.filled++
	c.signals.raiseAll()
	c.wake()
}

// Forget empties the window, as a compaction of the storage does. Watches that are open continue.
func (c *Cache) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.window.floor = max(c.window.floor, c.version)
}

// Drop removes the changes up to version from the window. A watch that may select one of them and
// has not read it ends with [ErrSlow].
func (c *Cache) Drop(version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.window.drop(len(c.window.changes) - len(c.window.after(version)))
}

// wake wakes the requests that wait for a version. The caller holds the lock.
func (c *Cache) wake() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// Version returns the version of the present states.
func (c *Cache) Version() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.version
}

// next returns a channel that is closed when the version or the window is another.
func (c *Cache) next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// Window returns the oldest version at which a watch can begin, and the number of changes that are
// kept.
func (c *Cache) Window() (oldest uint64, changes int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.window.floor, len(c.window.changes)
}

// Len returns the number of objects.
func (c *Cache) Len() int { return c.states.Len() }

// Now returns the present state of an object, or nil. It may be ahead of the version, see
// [Cache.Amend]: Now is for the source, which compares it with what it has.
func (c *Cache) Now(key string) Object {
	o, _ := c.states.Get(key)
	return o
}

// Keys returns the keys of the objects that [Cache.Now] returns.
func (c *Cache) Keys() []string { return c.states.Keys() }
