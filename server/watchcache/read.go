package watchcache

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/store"
)

// Query is a list request.
type Query struct {
	Selection
	ResourceVersion      string
	ResourceVersionMatch metav1.ResourceVersionMatch
	Limit                int64
	Continue             string
}

// Page is the answer to a list request.
type Page struct {
	Version   uint64
	Objects   []Object
	Continue  string // "": the list is complete
	Remaining *int64 // objects that follow; nil if the selection has selectors, or if none follow
}

// List answers a list request:
//
//	resourceVersion  match         limit  the answer is the state
//	(unset)                               that the storage has now: ErrNotCached
//	0                              any    that the cache has, whole
//	V                              none   that the cache has, once it is V or newer
//	V                NotOlderThan  any    the same
//	V                              some   at V
//	V                Exact         any    at V
//	(continue)                            at the version of the first page
//	(continue, after a 410)               that the storage has now: ErrNotCached
//
// A state is in the cache if the window reaches back to its version; otherwise List returns
// ErrNotCached. A list of one object at one version is also ErrNotCached, because kube-apiserver
// reads it from etcd.
//
// Other errors are those that the client gets: ErrNotReady (429), 504 (see tooLarge), 400 for a
// version or token that cannot be read.
func (c *Cache) List(ctx context.Context, q Query) (*Page, error) {
	version, err := ParseVersion(q.ResourceVersion)
	if err != nil {
		return nil, apierrors.NewBadRequest("invalid resource version: " + err.Error())
	}
	limit := q.Limit
	if q.ResourceVersion == "0" {
		limit = 0 // kube-apiserver ignores the limit of a list from its cache
	}
	switch {
	case q.Continue != "":
		token, err := ParseToken(q.Continue, q.Prefix())
		switch {
		case err != nil:
			return nil, err
		case q.ResourceVersion != "" && q.ResourceVersion != "0":
			return nil, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
		case token.Version == 0:
			return nil, ErrNotCached // the cache may be older than the first page
		}
		return c.exact(ctx, q.Selection, token.Start, token.Version, limit)
	case q.ResourceVersion == "":
		return nil, ErrNotCached
	case q.ResourceVersionMatch == metav1.ResourceVersionMatchExact,
		// Old clients do not know resourceVersionMatch, so a limit at a version means Exact.
		q.ResourceVersionMatch == "" && limit > 0 && version > 0:
		if _, named := q.Name(); named {
			return nil, ErrNotCached
		}
		return c.exact(ctx, q.Selection, "", version, limit)
	}
	return c.page(ctx, q.Selection, version, limit)
}

// page returns the present state, once it is as new as version.
func (c *Cache) page(ctx context.Context, sel Selection, version uint64, limit int64) (*Page, error) {
	if err := c.rlock(ctx, version); err != nil {
		return nil, err
	}
	s := state{version: c.version, now: c.states.Snapshot(), indexed: true}
	c.mu.RUnlock()
	return s.page(sel, "", limit), nil
}

// ListAt returns the objects of the state at version from the key start on. It does not wait. It
// returns [ErrNotCached] if the window begins after the version.
func (c *Cache) ListAt(sel Selection, start string, version uint64, limit int64) (*Page, error) {
	c.mu.RLock()
	if err := c.reached(version); err != nil {
		c.mu.RUnlock()
		return nil, err
	}
	return c.unlockPage(sel, start, version, limit)
}

// exact returns the state at version, once the cache has reached it.
func (c *Cache) exact(ctx context.Context, sel Selection, start string, version uint64, limit int64) (*Page, error) {
	if err := c.rlock(ctx, version); err != nil {
		return nil, err
	}
	return c.unlockPage(sel, start, version, limit)
}

// unlockPage returns the state at version. It releases the lock before it looks at the objects.
func (c *Cache) unlockPage(sel Selection, start string, version uint64, limit int64) (*Page, error) {
	if version < c.window.floor {
		c.mu.RUnlock()
		return nil, ErrNotCached
	}
	s := c.stateAt(version)
	c.mu.RUnlock()
	return s.page(sel, start, limit), nil
}

// stateAt returns the states at a version that is in the window. The caller holds the lock.
func (c *Cache) stateAt(version uint64) state {
	s := state{version: version, now: c.states.Snapshot(), before: make(map[string]Object)}
	for _, ch := range slices.Backward(c.window.after(version)) {
		s.before[object.Key(ch.after)] = ch.before
	}
	return s
}

// Get returns the present state of an object, once the cache is as new as version. It is nil if
// there is none.
func (c *Cache) Get(ctx context.Context, key string, version uint64) (Object, error) {
	if err := c.rlock(ctx, version); err != nil {
		return nil, err
	}
	defer c.mu.RUnlock()
	o, _ := c.states.Get(key)
	return o, nil
}

// WaitFor waits until the cache has reached version. After [Options.Wait] it returns a 504, see
// tooLarge.
func (c *Cache) WaitFor(ctx context.Context, version uint64) error {
	err := c.rlock(ctx, version)
	if err == nil {
		c.mu.RUnlock()
	}
	return err
}

// rlock waits until the cache has reached version. If it returns nil, it holds the read lock.
//
// Source of the three seconds: waitUntilFreshAndBlock of kube-apiserver's watch cache.
func (c *Cache) rlock(ctx context.Context, version uint64) error {
	var changed <-chan struct{}
	var timeout <-chan time.Time
	for {
		c.mu.RLock()
		err := c.reached(version)
		if err == nil {
			return nil
		}
		c.mu.RUnlock()
		if c.opts.Wait < 0 || errors.Is(err, ErrNotReady) {
			return err
		}
		if changed == nil {
			changed = c.next()
			continue // something may have changed before
		}
		if timeout == nil {
			timeout = time.After(c.opts.Wait)
		}
		select {
		case <-changed:
			changed = nil
		case <-timeout:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reached returns nil if the states are those of one version, which is version or newer. The caller
// holds the lock.
func (c *Cache) reached(version uint64) error {
	switch needed := max(version, c.ahead); {
	case !c.ready:
		return ErrNotReady
	case c.version < needed:
		return tooLarge(needed, c.version)
	}
	return nil
}

// state is what a resource was at a version: the objects of now, but where before has a key, the
// object that is there.
type state struct {
	version uint64
	now     *store.Snapshot[Object]
	before  map[string]Object // nil: there was none

	// indexed says that the objects of one node are found by an index, as kube-apiserver finds its
	// Pods: then no other object follows, and the last page has no token.
	indexed bool
}

// page collects up to limit objects, from the key start on.
func (s state) page(sel Selection, start string, limit int64) *Page {
	p := &Page{Version: s.version}
	if sel.Everything() && sel.Namespace == "" && limit == 0 {
		p.Objects = make([]Object, 0, s.now.Len())
	}
	name, named := sel.Name()
	node, ofNode := "", false
	if s.indexed && sel.Fields != nil {
		node, ofNode = sel.Fields.RequiresExactMatch(nodeField)
	}
	var remaining int64
	for o := range s.objects(sel, start) {
		if ofNode && o.GetFields().Get(nodeField) != node {
			continue
		}
		if limit > 0 && int64(len(p.Objects)) == limit {
			if named && object.Key(p.Objects[0]) == sel.Prefix()+name {
				break // the selection is this object, and whoever may read it may not learn that there are others
			}
			// There is another object, so there is another page. It is empty if the selectors
			// select none of the others.
			if remaining == 0 {
				p.Continue = Token{Version: s.version, Start: object.Key(p.Objects[limit-1]) + "\x00"}.encode(sel.Prefix())
			}
			if remaining++; !sel.Everything() {
				return p
			}
			continue
		}
		if sel.Matches(o) {
			p.Objects = append(p.Objects, o)
		}
	}
	if remaining > 0 {
		p.Remaining = &remaining
	}
	return p
}

// objects returns the objects of a namespace from the key start on, in key order. Of sel only the
// namespace counts.
func (s state) objects(sel Selection, start string) iter.Seq[Object] {
	prefix := sel.Prefix()
	end := strings.TrimSuffix(prefix, "/") + "0" // the character after the slash
	if prefix == "" {
		end = "\xff" // no name begins so
	}
	old := slices.Sorted(maps.Keys(s.before))
	start = max(start, prefix)
	at, _ := slices.BinarySearch(old, start)
	old = old[at:]
	return func(yield func(Object) bool) {
		// earlier yields the objects that are gone, up to a key.
		earlier := func(key string) bool {
			for len(old) > 0 && old[0] < key {
				if o := s.before[old[0]]; o != nil && !yield(o) {
					return false
				}
				old = old[1:]
			}
			return true
		}
		for key, o := range s.now.Between(start, end) {
			if !earlier(key) {
				return
			}
			if len(old) > 0 && old[0] == key {
				o, old = s.before[key], old[1:]
			}
			if o != nil && !yield(o) {
				return
			}
		}
		earlier(end)
	}
}
