package relay

import (
	"fmt"
	"sync"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/server/watchcache"
)

// raw is what the reflector brings.
type raw = *listwatch.Raw

// A feed is the reflector's sink: it fills a cache with what the upstream sends.
type feed struct {
	cache  *watchcache.Cache
	fields *selectable

	mu    sync.Mutex
	point reflector.Point // from which a reflector can go on with the cache's states; its Version is "" before the first
	lists int             // that the cache was filled with
}

// Apply implements [reflector.Sink].
func (f *feed) Apply(c reflector.Change[raw]) error {
	f.setPoint(reflector.Point{})
	var o watchcache.Object
	switch c.Op {
	case protocol.Resync, protocol.Resumed:
		return nil
	case protocol.InferDelete:
		held, ok := f.held(c.Meta.Key)
		if !ok {
			return nil
		}
		version, err := decimal(c.AsOf)
		if err != nil {
			return err
		}
		o = held.At(version)
	case protocol.Add, protocol.Update, protocol.Delete:
		read, err := newState(c.Object, f.fields)
		if err == nil && !c.Refetched {
			err = read.checkMetadata() // what the upstream says when it is asked again is what it has
		}
		if err != nil {
			return err
		}
		o = read
	}
	deleted := c.Op == protocol.Delete || c.Op == protocol.InferDelete
	if !c.Refetched {
		f.cache.Apply(o, deleted)
		return nil
	}
	upTo, err := decimal(c.AsOf)
	if err == nil {
		f.cache.Amend(o, deleted, upTo)
	}
	return err
}

// decimal reads a resourceVersion that has to be comparable.
func decimal(version string) (uint64, error) {
	n, err := watchcache.ParseVersion(version)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("relay: the upstream sent the resourceVersion %q, and a relay needs decimal numbers", version)
	}
	return n, nil
}

// At implements [reflector.Sink].
func (f *feed) At(version string, point func() reflector.Point) {
	if n, err := decimal(version); err == nil {
		f.cache.Progress(n)
	}
	if p := point(); p.Version != "" {
		f.setPoint(p) // otherwise the point before stays right: every change takes it away
	}
}

// now returns the cache's version, and how many lists the cache was filled with.
func (f *feed) now() (version uint64, lists int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cache.Version(), f.lists
}

// progress moves the cache to a version at which nothing has changed. It does nothing if a list has
// come since now returned lists, because the list may be of another history, in which that version
// is another state.
func (f *feed) progress(version uint64, lists int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lists == lists {
		f.cache.Progress(version)
	}
}

func (f *feed) setPoint(p reflector.Point) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.point = p
}

// BeginList implements [reflector.Sink].
func (f *feed) BeginList(reuse bool) reflector.Replacement[raw] { return &list{feed: f, reuse: reuse} }

// list gathers a list. Its end begins a new window, because nobody knows the changes between the
// last event and the list.
type list struct {
	*feed
	reuse   bool // an object with the version that the cache has is the same
	objects []watchcache.Object
}

// Part implements [reflector.Replacement].
func (l *list) Part(objects []raw, _ []object.Meta) error {
	for _, one := range objects {
		o, err := l.read(one)
		if err != nil {
			return err
		}
		l.objects = append(l.objects, o)
	}
	return nil
}

// read returns the object that the cache holds already, if it is the same.
func (l *list) read(one raw) (watchcache.Object, error) {
	held, ok := l.held(object.Key(one))
	if l.reuse && ok && held.GetResourceVersion() == one.GetResourceVersion() && held.GetUID() == one.GetUID() {
		return held, nil
	}
	return newState(one, l.fields)
}

// End implements [reflector.Replacement].
func (l *list) End(version string, keep []string, keepAll bool) error {
	n, err := decimal(version)
	if err != nil {
		return err
	}
	if keepAll {
		keep = l.Keys()
	}
	listed := make(map[string]bool, len(l.objects))
	for _, o := range l.objects {
		listed[object.Key(o)] = true
	}
	for _, key := range keep {
		if held, ok := l.held(key); ok && !listed[key] {
			l.objects = append(l.objects, held)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.point = reflector.Point{}
	l.lists++
	return l.cache.Fill(n, l.objects)
}

// Drop implements [reflector.Replacement].
func (l *list) Drop() {}

func (f *feed) held(key string) (watchcache.Object, bool) {
	o := f.cache.Now(key)
	return o, o != nil
}

// Get implements [reflector.Holder].
func (f *feed) Get(key string) (raw, bool) {
	if o, ok := f.cache.Now(key).(*state); ok {
		return o.Raw, true
	}
	return nil, false
}

// Expect implements [reflector.Holder].
func (f *feed) Expect([]string) {}

// Meta implements [reflector.Holder].
func (f *feed) Meta(key string) (object.Meta, bool) {
	o, ok := f.held(key)
	if !ok {
		return object.Meta{}, false
	}
	return object.Meta{Key: key, UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()}, true
}

// Keys implements [reflector.Holder].
func (f *feed) Keys() []string { return f.cache.Keys() }
