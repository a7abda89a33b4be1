package reflector

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
)

// Objects are kept in memory, and a list replaces them as a whole. store.Store has these methods.
type Objects[T any] interface {
	// Add, Update and Delete apply one event of a watch. A server may repeat events, so an Add may
	// be about an object that is there, and an Update or a Delete about one that is not.
	Add(obj T) error
	Update(obj T) error
	Delete(obj T) error

	// Replace makes items the whole state, as of resourceVersion. It may keep the slice. If an item
	// of the list cannot be decoded, items have the object that is there.
	Replace(items []T, resourceVersion string) error

	// Resync offers every object to the consumer again.
	Resync() error

	// Get and Keys are as in [Holder].
	Get(key string) (T, bool)
	Keys() []string
}

// Queue is a queue of changes, on their way to a consumer that keeps the objects. deltafifo.Queue
// has these methods.
type Queue[T any] interface {
	Objects[T]

	// DeleteInferred deletes an object whose final state is unknown. obj is the object that the
	// consumer has.
	DeleteInferred(obj T) error

	// Resumed says that the server has resumed the watch at [Options.Start]. So the objects that
	// the consumer began with count as the first list.
	Resumed()

	// Mark says that the queue was given everything up to resourceVersion, as in [Sink].
	Mark(resourceVersion string)
}

// Memory is a [Sink] and a [Holder], made by [InMemory] or [InQueue].
type Memory[T any] struct {
	objects        Objects[T]
	deleteInferred func(T) error
	resumed        func()
	mark           func(resourceVersion string)
}

// InMemory returns a sink that keeps objects in a store.Store, or in another type with its methods.
func InMemory[T any](objects Objects[T]) Memory[T] {
	return Memory[T]{objects, objects.Delete, func() {}, func(string) {}}
}

// InQueue returns a sink that gives objects to a deltafifo.Queue, or to another type with its
// methods.
func InQueue[T any](queue Queue[T]) Memory[T] {
	return Memory[T]{queue, queue.DeleteInferred, queue.Resumed, queue.Mark}
}

// Apply implements [Sink].
func (m Memory[T]) Apply(c Change[T]) error {
	switch c.Op {
	case protocol.Add:
		return m.objects.Add(c.Object)
	case protocol.Update:
		return m.objects.Update(c.Object)
	case protocol.Delete:
		return m.objects.Delete(c.Object)
	case protocol.InferDelete:
		if obj, ok := m.objects.Get(c.Meta.Key); ok { // the consumer may have deleted it since
			return m.deleteInferred(obj)
		}
	case protocol.Resync:
		return m.objects.Resync()
	case protocol.Resumed:
		m.resumed()
	}
	return nil
}

// BeginList implements [Sink]. The parts are gathered, so that nothing of the list shows before its
// end.
func (m Memory[T]) BeginList(bool) Replacement[T] { return &gathered[T]{into: m} }

// At implements [Sink].
func (m Memory[T]) At(resourceVersion string, _ func() Point) { m.mark(resourceVersion) }

// Get implements [Holder].
func (m Memory[T]) Get(key string) (T, bool) { return m.objects.Get(key) }

// Expect implements [Holder].
func (Memory[T]) Expect([]string) {}

// Meta implements [Holder].
func (m Memory[T]) Meta(key string) (object.Meta, bool) {
	obj, ok := m.objects.Get(key)
	if !ok {
		return object.Meta{}, false
	}
	return metaOf(key, obj), true
}

// Keys implements [Holder].
func (m Memory[T]) Keys() []string { return m.objects.Keys() }

// metaOf returns the metadata of an object that a sink holds.
func metaOf[T any](key string, obj T) object.Meta {
	meta := object.Meta{Key: key}
	if o, ok := any(obj).(identified); ok {
		meta.UID, meta.ResourceVersion = o.GetUID(), o.GetResourceVersion()
	}
	return meta
}

// identified has the getters of object.Object that identify a version. T may lack them.
type identified interface {
	GetUID() types.UID
	GetResourceVersion() string
}

// gathered is a list that is gathered before it replaces the objects.
type gathered[T any] struct {
	into  Memory[T]
	items []T
	keys  []string // of items
}

// Part implements [Replacement].
func (g *gathered[T]) Part(objects []T, metas []object.Meta) error {
	g.items = append(g.items, objects...)
	for i := range metas {
		g.keys = append(g.keys, metas[i].Key)
	}
	return nil
}

// End implements [Replacement].
func (g *gathered[T]) End(resourceVersion string, keep []string, keepAll bool) error {
	if keepAll {
		keep = g.into.Keys()
	}
	if len(keep) > 0 {
		g.keep(keep)
	}
	return g.into.objects.Replace(g.items, resourceVersion)
}

// keep adds the objects under keys that the list lacks. It may have one of them after all: if an
// object is in the list twice, and one item could not be decoded.
func (g *gathered[T]) keep(keys []string) {
	listed := make(map[string]bool, len(g.keys))
	for _, key := range g.keys {
		listed[key] = true
	}
	for _, key := range keys {
		if obj, ok := g.into.Get(key); ok && !listed[key] {
			g.items = append(g.items, obj)
		}
	}
}

// Drop implements [Replacement].
func (*gathered[T]) Drop() {}
