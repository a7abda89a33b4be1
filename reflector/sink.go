package reflector

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
	// [Known], items then have the object that the sink holds. Otherwise they lack the
	// object until the reflector has asked for it and could decode it.
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
	// last Mark, or older, because the server's storage went back. After events and
	// bookmarks, it is newer.
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
	// and whenever the point has changed otherwise; between the last change that belongs to the point and the call, no other
	// change of an object comes. If p.Version is empty, the sink cannot be saved now: for example, before the first list, or
	// while the server may be another one than before. A copy that was saved earlier stays right.
	MarkPoint(p Point)
}

// Resumer is an optional interface of a Sink that [Options.Start] is used with. deltafifo.Queue implements it.
type Resumer interface {
	// Resumed says that the server has resumed the watch, so that the objects that the sink began with count as its first list.
	// If the server cannot do that, a Replace comes instead.
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
