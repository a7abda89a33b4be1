package controller

import (
	"context"
	"sync"

	"github.com/relist-go/relist/internal/goexit"
	"github.com/relist-go/relist/internal/writes"
	"github.com/relist-go/relist/object"
)

// notes are the writes of one call of [Reconcile], in their order. The key is not given again
// before each cache has all of them, so that the next call reads what this one has written.
type notes struct {
	caches []writes.Cache

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
}

func noteOf(w writes.Write, c writes.Cache) note {
	version := c.Version() // before the store is read, which may then be newer
	had, existed := c.Get(w.Key)
	return note{w, c, version, had, existed}
}

// begin notes what the caches have before a write.
func (n *notes) begin(w writes.Write) (end func(writes.Write)) {
	var before []note
	for _, c := range n.caches {
		if c.Sees(w) != writes.Elsewhere {
			before = append(before, noteOf(w, c))
		}
	}
	return func(w writes.Write) {
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, b := range before {
			if !n.over {
				b.Write = w
				n.made = append(n.made, b)
			}
		}
	}
}

// end returns the writes of the call.
func (n *notes) end() []note {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.over = true
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
// object at that very version, or newer. Or the server was restored from a backup, and the cache has
// a state that the server has lost.
func (n *note) state(sight writes.Sight) state {
	at := n.cache.Version()
	now, exists := n.cache.Get(n.Key)
	switch {
	case n.Unanswered:
		return unsure
	case n.Deleted:
		other := now.UID != n.UID && now.UID != n.had.UID
		if !exists || other || now.UID == "" && now.ResourceVersion != n.had.ResourceVersion { // a Transform may have cleared the UID
			return has
		}
		return comes
	case !exists && sight == writes.Hidden, exists && now.ResourceVersion == n.Version:
		return has
	case newer(n.Version, n.version):
		if !newer(n.Version, at) {
			return has
		}
		if exists || sight == writes.Shown {
			return comes
		}
		return unsure
	case exists && (now.ResourceVersion == "" || newer(now.ResourceVersion, n.version)): // or a Transform has cleared it
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

// await waits until the cache has the write. It returns an error if ctx ends, or if the cache has.
func (n *note) await(ctx context.Context) error {
	switch n.state(n.cache.Sees(n.Write)) {
	case has:
		return nil
	case comes:
		return n.event(ctx)
	case unsure:
	}
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch {
	case n.Unanswered:
		<-soon.Done() // a write that is still on its way is made by then
	case newer(n.Version, n.version) || !object.IsComparable(n.Version):
		if n.event(soon) == nil {
			return nil
		}
	}
	return n.ask(ctx)
}

// event waits for the event of the write.
func (n *note) event(ctx context.Context) error {
	if !n.Deleted && object.IsComparable(n.Version) {
		return n.cache.WaitForVersion(ctx, n.Version)
	}
	return n.cache.WaitUntil(ctx, n.Key, func() bool { return n.state(writes.Unsure) == has })
}

// ask asks the server what the cache should have, and waits for that. If it does not come in a
// moment, the cache lists.
func (n *note) ask(ctx context.Context) error {
	if n.Key == "" {
		return n.cache.Relist(ctx)
	}
	soon, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	now := noteOf(writes.Write{Key: n.Key}, n.cache)
	_, is, exists, err := n.cache.Ask(soon, n.Key)
	now.UID, now.Version, now.Deleted = is.UID, is.ResourceVersion, !exists
	if err == nil {
		switch now.state(writes.Shown) {
		case has:
			return nil
		case comes:
			if now.event(soon) == nil {
				return nil
			}
		case unsure:
		}
	}
	return n.cache.Relist(ctx)
}

// lost reports whether the object of a write has gone without a trace in the cache: it was not
// there before, and was deleted before the cache had it. So no change brings the key back.
func (n *note) lost(ctx context.Context) bool {
	_, exists := n.cache.Get(n.Key)
	if n.Deleted || n.Key == "" || n.existed || exists || n.cache.Sees(n.Write) != writes.Shown {
		return false
	}
	_, _, exists, err := n.cache.Ask(ctx, n.Key) // it exists if it cannot be decoded
	return ctx.Err() == nil && (err != nil || !exists)
}

// hold keeps a key from the workers until the caches have what it has written.
func (c *running) hold(ctx context.Context, key string, made []note, fail context.CancelCauseFunc) {
	if len(made) == 0 {
		c.queue.Done(key)
		return
	}
	c.queue.hold(key)
	c.holding.Go(func() {
		goexit.Do(func() {
			lost := map[string]bool{}
			for _, n := range made { // in their order: a created object may have been hidden since
				c.waits.during(n.cache, key, func() { _ = n.await(ctx) }) // it fails at the end of ctx, the informer or the namespace
				lost[n.cache.Name()+" "+n.Key] = n.lost(ctx)
			}
			for _, is := range lost {
				if is {
					c.queue.Add(key)
				}
			}
		}, func(exited bool) {
			c.queue.Done(key)
			if exited {
				fail(goexit.Err)
			}
		})
	})
}
