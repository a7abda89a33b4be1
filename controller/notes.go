package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/relist-go/relist/internal/goexit"
	"github.com/relist-go/relist/internal/writes"
	"github.com/relist-go/relist/object"
)

// notes are the writes of one call of [Reconcile], in their order. The key is not given again
// before each cache has all of them, so that the next call reads what this one has written.
type notes struct {
	sources []Source

	mu   sync.Mutex
	made []note
	over bool // the call has returned; what its goroutines write later is theirs
}

// note is a write, and what a cache had before it was sent.
type note struct {
	writes.Write
	cache   writes.Cache
	version string // that the cache had reached
	had     object.Meta
	existed bool
	ended   time.Time // when the write did
	last    bool      // of the writes of this object in the call
}

func noteOf(w writes.Write, c writes.Cache) note {
	version := c.Version() // before the store is read, which may then be newer
	had, existed := c.Get(w.Key)
	return note{Write: w, cache: c, version: version, had: had, existed: existed}
}

// begin notes what the caches have before a write.
func (n *notes) begin(w writes.Write) (end func(writes.Write)) {
	var before []note
	for _, c := range caches(n.sources) {
		if c.Sees(w) != writes.Elsewhere {
			before = append(before, noteOf(w, c))
		}
	}
	return func(w writes.Write) { n.add(before, w) }
}

// add notes a write, with what the caches had before.
func (n *notes) add(before []note, w writes.Write) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.over {
		return
	}
	for _, b := range before {
		b.Write, b.ended = w, time.Now()
		n.made = append(n.made, b)
	}
}

func (n *notes) end() []note {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.over = true
	type place struct {
		cache writes.Cache
		key   string
	}
	later := map[place]bool{}
	for i := range n.made {
		w := &n.made[len(n.made)-1-i]
		at := place{w.cache, w.Key}
		w.last = w.Key != "" && !later[at]
		later[at] = true
	}
	return n.made
}

// state is what is known of a write and a cache.
type state int

const (
	has    state = iota // the cache has it, or will never show what was before it
	comes               // its event is on the way
	unsure              // only the server can tell
)

// state compares a write with what the cache has now.
//
// A write that has changed something has a version that is newer than all that the cache had before
// it was sent. A version that is not newer is of a write that changed nothing: the cache has the
// object at that very version, or newer. Or the server was restored from a backup, and the cache
// has a state that the server has lost.
func (n *note) state(sight writes.Sight) state {
	at := n.cache.Version()
	now, exists := n.cache.Get(n.Key)
	switch {
	case n.Unanswered:
		return unsure
	case n.Deleted:
		other := n.UID+n.had.UID != "" && now.UID != n.UID && now.UID != n.had.UID
		switch {
		case !exists || other:
			return has
		case now.UID == "": // a Transform has cleared it, so it may be another object
			return unsure
		}
		return comes
	case !exists && sight == writes.Hidden:
		return has
	case exists && sight != writes.Hidden && now.ResourceVersion == n.Version && !object.DifferentUID(now.UID, n.UID):
		return has
	case newer(n.Version, n.version):
		if !newer(n.Version, at) {
			return has
		}
		if exists || sight == writes.Shown {
			return comes
		}
		return unsure
	case exists && newer(now.ResourceVersion, n.version):
		return has
	case object.Older(at, n.version) && !newer(n.Version, at): // the cache has gone back, too
		return has
	}
	return unsure
}

// newer reports whether version comes after than, which may be empty: before everything.
func newer(version, than string) bool {
	return object.Older(than, version) || than == "" && object.IsComparable(version)
}

// eventWithin is how long an event may take that is certain to come, unless the server has lost the
// write because it was restored from a backup.
const eventWithin = time.Minute

// await waits until the cache has the write, or until ctx, the informer or the namespace ends. If
// the cache had to list, await returns when that began.
func (n *note) await(ctx context.Context) (listed time.Time) {
	switch n.state(n.cache.Sees(n.Write)) {
	case has:
		return listed
	case comes:
		if !n.event(ctx, eventWithin) {
			listed = n.list(ctx)
		}
		return listed
	case unsure:
	}
	soon := askAfter - time.Since(n.ended) // the writes of a call wait for this time together
	switch {
	case n.Unanswered:
		select {
		case <-time.After(soon): // a write that is still on its way is made by then
		case <-ctx.Done():
		}
	case n.Deleted || newer(n.Version, n.version) || !object.IsComparable(n.Version):
		if n.event(ctx, soon) {
			return listed
		}
	}
	if n.Key == "" || !n.ask(ctx) {
		listed = n.list(ctx)
	}
	return listed
}

// list lets the cache list, and returns when that began.
func (n *note) list(ctx context.Context) (began time.Time) {
	began = time.Now()
	if n.cache.Relist(ctx) != nil {
		return time.Time{}
	}
	return began
}

// event waits for the event of the write, and reports whether it has come.
func (n *note) event(ctx context.Context, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if !n.Deleted && object.IsComparable(n.Version) {
		return n.cache.WaitForVersion(ctx, n.Version) == nil
	}
	return n.cache.WaitUntil(ctx, n.Key, func() bool { return n.state(n.cache.Sees(n.Write)) == has }) == nil
}

// ask asks the server what the cache should have, and reports whether it has that. If the server
// has nothing, a write without an answer may have been made and deleted, and its events may be to
// come.
func (n *note) ask(ctx context.Context) bool {
	now := noteOf(writes.Write{Key: n.Key}, n.cache)
	soon, cancel := context.WithTimeout(ctx, askAfter)
	defer cancel()
	version, is, exists, err := n.cache.Ask(soon, n.Key)
	if err != nil || !exists && n.Unanswered {
		return false
	}
	now.UID, now.Version, now.Deleted = is.UID, is.ResourceVersion, !exists
	switch now.state(writes.Shown) {
	case has:
		return true
	case comes:
		return now.event(ctx, askAfter)
	case unsure:
	}
	if !exists || !now.existed || now.had.ResourceVersion != "" || object.DifferentUID(now.had.UID, is.UID) {
		return false
	}
	// A Transform has cleared the version of the object. That of the cache says enough, unless the
	// server was restored.
	return object.IsComparable(version) && !object.Older(version, now.version)
}

// lost reports whether the object of a write has gone without a trace in the cache: it was not
// there before, and was deleted before the cache had it. So no change brings the key back.
func (n *note) lost(ctx context.Context) bool {
	_, exists := n.cache.Get(n.Key)
	if n.Deleted || !n.last || n.existed || exists || n.cache.Sees(n.Write) != writes.Shown {
		return false
	}
	soon, cancel := context.WithTimeout(ctx, askAfter)
	defer cancel()
	_, _, exists, err := n.cache.Ask(soon, n.Key) // it exists if it cannot be decoded
	return ctx.Err() == nil && (err != nil || !exists)
}

// hold keeps a key from the workers until the caches have what it has written.
func (c *running) hold(ctx context.Context, key string, made []note) {
	if len(made) == 0 {
		c.queue.Done(key)
		return
	}
	c.queue.hold(key)
	c.holding.Go(func() {
		goexit.Do(func() {
			listed := map[writes.Cache]time.Time{}
			for _, n := range made { // in their order: a created object may have been hidden since
				if listed[n.cache].Sub(n.ended) >= askAfter {
					continue // this list has it, if it was made
				}
				c.during(ctx, n.cache, key, new(atomic.Int32), func() {
					if began := n.await(ctx); !began.IsZero() {
						listed[n.cache] = began
					}
				})
			}
			if slices.ContainsFunc(made, func(n note) bool { return n.lost(ctx) }) {
				c.queue.Add(key)
			}
		}, func(exited bool) {
			c.queue.Done(key)
			if exited {
				c.fail(fmt.Errorf("controller: what %q has written: %w", key, goexit.Err))
			}
		})
	})
}
