package reflector

import (
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
)

// Sink is what a reflector writes to. [InQueue] and [InMemory] make one of a deltafifo.Queue and of
// a store.Store, and a program's own type can be one.
//
// The reflector calls it from one goroutine. An error means that the sink did not take the change.
// The reflector reports it. If the change is one object, its key goes into quarantine, and the
// reflector asks the server for the object until the sink takes it. If the change is a list or a
// resync, or if the sink has refused more than 100 objects, the reflector lists again after a
// delay.
//
// A list arrives over time. Between BeginList and End or Drop, Apply may be called with Resync, and
// with nothing else. After End comes At; but if [Reflector.Relist] was called while the list
// arrived, the next BeginList may come first.
type Sink[T any] interface {
	// Apply makes a change.
	Apply(c Change[T]) error

	// BeginList says that a list begins, which will replace everything that the sink holds. There
	// is one at a time. If reuse is true, an object that has the UID and the resourceVersion of the
	// one that the sink holds is the same, and need not be written again.
	BeginList(reuse bool) Replacement[T]

	// At says that the sink was given everything up to resourceVersion, except objects in
	// quarantine. The reflector calls it after changes, which may be a batch of events, and
	// whenever the version has moved, also by a bookmark. The version is empty if the server sent
	// none, and it moves back if the server's storage did. One object may be newer, because the
	// reflector also asks the server for single objects.
	//
	// The function point returns the place at which the sink can be saved now, see [Options.Start]:
	// the sink has been given every change that belongs to it, and no other. It may be called until
	// At returns. Once a sink has called it, At is also called when nothing but the place has
	// changed. If the Version of the place is empty, the sink cannot be saved now: for example,
	// while the server may be another one than before. A copy that was saved earlier stays right.
	At(resourceVersion string, point func() Point)
}

// Change is one change of a [Sink].
type Change[T any] struct {
	Op protocol.Apply

	// Meta is the object's metadata as they came over the wire. If Op is InferDelete, they are
	// those that [Holder.Meta] returned. If Op is Resync or Resumed, there are none.
	Meta object.Meta

	// Object is the object's new state; its final state if Op is Delete; otherwise the zero T.
	Object T

	// AsOf is the resourceVersion at which the object was so. If Refetched, it is that of an answer
	// to a request for the object, and may be newer than what the watch has brought.
	AsOf      string
	Refetched bool
}

// Replacement takes a list while it arrives. Nothing of it counts before End.
type Replacement[T any] interface {
	// Part takes objects of the list, in the server's order, and their metadata as they came over
	// the wire. An object may occur twice in one list; the later one is right. After an error, the
	// reflector reads the list to its end, and calls Drop.
	Part(objects []T, metas []object.Meta) error

	// End makes the list the whole state, as of a version; the version is empty if the server sent
	// none. If the sink holds an object that the list lacks, that object was deleted, and its final
	// state is unknown. There are two exceptions: keep are the keys of items that cannot be
	// decoded, and that the sink holds; and if keepAll is true, no object counts as deleted,
	// because some items of the list have no readable name.
	End(resourceVersion string, keep []string, keepAll bool) error

	// Drop says that the list will not end: the request has failed, or the list cannot be used.
	Drop()
}

// Holder is an optional interface of a [Sink] that can say what it holds. The reflector then
// compares an event, or an item of a list, with that; [Options.Start] and [VerifyOptions] need it.
// Without it, an object that cannot be decoded is missing after a list, until the reflector has
// asked for it and could decode it.
//
// Changes that the sink was given, and has not processed yet, count as processed. Parts of a list
// that has not ended may count, too.
type Holder[T any] interface {
	// Get returns the object under key. A sink that has no objects in memory returns false. The
	// reflector calls it while it reads a list, on another goroutine: if it returns an object that
	// has the version of an item, the item is not decoded, and the list has that object instead.
	Get(key string) (T, bool)

	// Expect says for which keys Meta will be called next, so that a sink can look up all of them
	// together.
	Expect(keys []string)

	// Meta returns the metadata of what the sink holds under key.
	Meta(key string) (object.Meta, bool)

	// Keys returns the keys of all objects.
	Keys() []string
}
