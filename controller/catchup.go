package controller

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/relist-go/relist/internal/writes"
	"github.com/relist-go/relist/object"
)

const (
	// askAfter is how long a change may take to come by a watch, before a cache asks the server.
	askAfter = time.Second

	// listAfter is shorter, because no key is given until then. In the caches of a busy type
	// something comes in that time, and a quiet type has no event that it could wait for.
	listAfter = askAfter / 5
)

// goal is what a cache has to reach.
type goal struct {
	cache   writes.Cache
	version string // "" if it is not known
	from    string // the version that the cache had when the server was asked
}

// goals asks the servers for their versions, for no longer than a moment.
func goals(ctx context.Context, sources []Source) []goal {
	ctx, cancel := context.WithTimeout(ctx, askAfter)
	defer cancel()
	all := make([]goal, 0, len(sources))
	for _, cache := range caches(sources) {
		all = append(all, goal{cache: cache, from: cache.Version()})
	}
	var asking sync.WaitGroup
	for i := range all {
		asking.Go(func() { all[i].version, _, _, _ = all[i].cache.Ask(ctx, "") }) // if it fails, catchUp lists
	}
	asking.Wait()
	return all
}

// catchUp waits until every cache is at least as new as its server was when the goals were made:
// the first list of a cache may be from an API server that is behind, and a watch may hang. If a
// cache does not come there by itself in a moment, it lists. If the version of the server has gone
// back, that of the cache says nothing. catchUp returns the error of ctx if that ends first.
func (c *running) catchUp(ctx context.Context, all []goal) error {
	var reaching sync.WaitGroup
	var late atomic.Int32
	for _, g := range all {
		reaching.Go(func() {
			c.during(ctx, g.cache, "", &late, func() {
				if g.version == "" { // the server was away
					soon, cancel := context.WithTimeout(ctx, askAfter)
					defer cancel()
					g.from = g.cache.Version()
					g.version, _, _, _ = g.cache.Ask(soon, "")
				}
				soon, cancel := context.WithTimeout(ctx, listAfter)
				defer cancel()
				if !object.IsComparable(g.version) || object.Older(g.version, g.from) || errors.Is(g.cache.WaitForVersion(soon, g.version), context.DeadlineExceeded) {
					_ = g.cache.Relist(ctx) // it fails if ctx, the informer or the namespace has ended
				}
			})
		})
	}
	reaching.Wait()
	return ctx.Err()
}

// caches returns the caches of the sources, each once.
func caches(sources []Source) []writes.Cache {
	var all []writes.Cache
	seen := map[any]bool{}
	for _, s := range sources {
		if !seen[s.informer] {
			all = append(all, s.parts()...)
		}
		seen[s.informer] = true
	}
	return all
}
