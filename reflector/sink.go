package reflector

// Sink is what a reflector writes to. deltafifo.Queue and store.Store are
// sinks; a program's own type can be one.
//
// The reflector calls it from one goroutine. An error means that the sink did not take
// the change, and the reflector reports it. If the change is one object, its key goes
// into quarantine, and the server is asked for the object until the sink takes it. If it
// is a Replace or a Resync, or if the sink refuses more than 100 objects, the reflector
// lists again after a pause.
type Sink[T any] interface {
	// Add, Update and Delete apply one event of a watch. An Add may concern an
	// object that the sink holds, and an Update or a Delete one that it does
	// not: a server is free to repeat itself.
	Add(obj T) error
	Update(obj T) error
	Delete(obj T) error

	// Replace makes items all that there is, as of resourceVersion. What the
	// sink holds and items lack was deleted unseen. The sink may keep items.
	Replace(items []T, resourceVersion string) error

	// Resync offers every object that the sink holds to its consumer again.
	Resync() error
}

// Known is what a Sink implements that can say what it holds; deltafifo.Queue and
// store.Store do. With it a reflector can tell an event that comes late from one
// that is out of date.
type Known[T any] interface {
	// Get returns the object under key as it will be once the sink has worked off
	// what it was given. While a list is read it is called on another goroutine, and
	// Resync may be called meanwhile: an object that the sink holds in the same version
	// is not decoded again, and comes back with Replace.
	Get(key string) (T, bool)
}

// Inferrer is what a Sink implements that makes a difference between a deletion that
// was observed and one that was inferred; deltafifo.Queue does. If a Sink does not,
// its Delete is called.
type Inferrer[T any] interface {
	// DeleteInferred removes an object that is gone, and whose final state is not
	// known. obj is what the sink holds.
	DeleteInferred(obj T) error
}

// Held is what a Sink implements besides [Known] so that it can be verified.
// deltafifo.Queue and store.Store do.
type Held interface {
	// Keys returns the keys of all objects that there will be once the sink has worked
	// off what it was given.
	Keys() []string
}

// Marker is what a Sink implements that wants to know how far it is.
type Marker interface {
	// Mark says that everything up to resourceVersion has been given to the sink, but
	// for objects in quarantine. It is called after each batch of events that moved the
	// resume point, after each bookmark that did, and after each Replace: only then may
	// the version be older than the last, because the server's storage went back.
	//
	// An object that was asked for by itself is given to the sink ahead of the marks, so
	// the version of a single object says nothing of others.
	Mark(resourceVersion string)
}

// SafeMarker is what a Sink implements that wants to know from which version its copy can be resumed.
type SafeMarker interface {
	// MarkSafe says that everything up to resourceVersion has been given to the sink, without
	// exception: [Status.SafeVersion]. It is called after what [Marker.Mark] is called
	// after, if the version is another one than before. It is empty if nothing is safe.
	MarkSafe(resourceVersion string)
}
