package reflector

import "github.com/relist-go/relist/listwatch"

// Sink is what a reflector writes to. deltafifo.Queue and store.Store are
// sinks, and a program's own type can be one.
//
// The reflector calls it from one goroutine. An error means that the sink did not take the
// change. The reflector reports it. If the change is one object, its key goes into
// quarantine, and the reflector asks the server for the object until the sink takes it. If
// the change is a Replace or a Resync, or if the sink has refused more than 100 objects,
// the reflector lists again after a pause.
type Sink[T any] interface {
	// Add, Update and Delete apply one event of a watch. A server may repeat events, so an
	// Add may be about an object that the sink holds, and an Update or a Delete about one
	// that it does not hold.
	Add(obj T) error
	Update(obj T) error
	Delete(obj T) error

	// Replace makes items the whole state, as of resourceVersion. If the sink holds an
	// object that items lack, that object was deleted, and the reflector got no event of
	// the deletion. The sink may keep the slice.
	//
	// If an item of the list cannot be decoded, its object still exists. If the sink is a
	// [Known], items have the object that the sink holds instead. Otherwise items lack the
	// object. The reflector asks the server for it, and gives it to the sink once it can
	// decode it.
	Replace(items []T, resourceVersion string) error

	// Resync offers every object of the sink to its consumer again.
	Resync() error
}

// Known is an optional interface of a Sink. The reflector uses it to compare an event, or
// an item of a list, with the object that the sink holds. deltafifo.Queue and store.Store
// implement it.
type Known[T any] interface {
	// Get returns the object under key. Changes that the sink was given, and has not
	// processed yet, count as processed.
	//
	// While the reflector reads a list, it calls Get on another goroutine, and may call
	// Resync at the same time. If the sink holds an item of the list in the same version,
	// the reflector does not decode that item again. It passes the sink's object to
	// Replace instead.
	Get(key string) (T, bool)
}

// Remote is an optional interface of a Sink that does not keep its objects in memory, for example because it writes them to a
// database. Package sink has one. The reflector asks it for metadata instead of objects, tells it deletions by metadata, and
// hands a list over in parts while the list arrives. It calls neither Replace, nor Get of [Known], nor DeleteInferred of
// [Inferrer].
//
// All methods are called from the reflector's goroutine.
type Remote[T any] interface {
	// Expect says for which keys the reflector will call Meta next, so that the sink can look up all of them at once.
	Expect(keys []string)

	// Meta returns the metadata of what the sink holds under key. Changes that the sink was given, and has not processed yet,
	// count as processed. Parts of a list that has not ended may count, too.
	Meta(key string) (listwatch.Meta, bool)

	// DeleteMissing removes an object that is gone from the server, if the reflector did not see its final state. meta is of the
	// object that the sink holds.
	DeleteMissing(meta listwatch.Meta) error

	// BeginList says that a list begins. If an earlier list has not ended, its parts are void. If the reflector has read a part of
	// a list, and the server then begins the list again, BeginList is called again, too.
	BeginList()

	// ListPart takes a part of the list: objects, with their metadata as they came over the wire, and the keys of items that the
	// sink holds in the same version. An object may occur twice in one list; the later one is right.
	ListPart(objects []T, metas []listwatch.Meta, same []string) error

	// EndList makes the list the whole state, as of a version. keep are the keys of items that cannot be decoded. If the sink holds
	// an object whose key is neither in a part nor in keep, that object was deleted, and nobody has seen its final state. If
	// keepAll is true, no object counts as deleted, because some items of the list have no readable name.
	EndList(resourceVersion string, keep []string, keepAll bool) error

	// DropList says that the list that was begun will not end: the request has failed, or the list cannot be used.
	DropList()
}

// Inferrer is an optional interface of a Sink. A Sink implements it if it treats an
// inferred deletion differently from an observed one, as deltafifo.Queue does. For any
// other Sink, the reflector calls Delete.
type Inferrer[T any] interface {
	// DeleteInferred removes an object that is gone from the server, if the reflector did
	// not see its final state. obj is the object that the sink holds.
	DeleteInferred(obj T) error
}

// Held is an optional interface of a Sink. The reflector can verify a Sink that
// implements both Held and [Known], see [Verify]. deltafifo.Queue and store.Store
// implement both.
type Held interface {
	// Keys returns the keys of all objects, as they will be once the sink has processed every
	// change that it was given.
	Keys() []string
}

// Marker is an optional interface of a Sink. A Sink implements it to learn up to which
// version it has everything.
type Marker interface {
	// Mark says that the sink was given everything up to resourceVersion, except objects
	// in quarantine. The reflector calls Mark after each Replace, if the list has a
	// resourceVersion. It also calls Mark after a batch of events and bookmarks, if the
	// resume point has moved. After a Replace, the version may be the same as that of the
	// last Mark. It may also be older, if the server's storage went back. After events
	// and bookmarks, it is newer.
	//
	// The reflector also asks the server for single objects. It gives the answer to the
	// sink at once, although the resume point may not have reached the version of that
	// answer. So one object may be newer than the mark, and its version says nothing
	// about other objects.
	Mark(resourceVersion string)
}

// PointMarker is an optional interface of a Sink. A Sink that saves its objects implements it, to learn from which point a
// later reflector can go on: see [Options.Start].
type PointMarker interface {
	// MarkPoint tells the sink the point at which it is now. The reflector calls it after each batch of events, after each list,
	// and whenever the point has changed otherwise. When it is called, the sink has been given every change that belongs to the
	// point, and no other. If p.Version is empty, the sink cannot be saved now: for example, before the first list, or while the
	// server may be another one than before. A copy that was saved earlier stays right.
	MarkPoint(p Point)
}

// Resumer is an optional interface of a Sink that [Options.Start] is used with. deltafifo.Queue implements it.
type Resumer interface {
	// Resumed says that the server has resumed the watch. So the objects that the sink began with count as its first list. If
	// the server cannot resume the watch, a Replace comes instead.
	Resumed()
}

// SafeMarker is an optional interface of a Sink. A Sink implements it to learn from which
// version a program can resume a saved copy.
type SafeMarker interface {
	// MarkSafe says that the sink was given everything up to resourceVersion, without
	// exception: [Status.SafeVersion]. The reflector calls MarkSafe whenever that version
	// has changed. The version is empty if there is none.
	MarkSafe(resourceVersion string)
}
