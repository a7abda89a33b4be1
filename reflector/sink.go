package reflector

// Sink is what a reflector writes to. deltafifo.Queue and store.Store are
// sinks; a program's own type can be one.
//
// The reflector calls it from one goroutine. An error means that the sink did
// not take the change: the reflector reports it, and lists again after a pause,
// so that nothing is lost for long.
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
// was observed and one that was inferred; deltafifo.Queue does. Of a Sink that does
// not, Delete is called.
type Inferrer[T any] interface {
	// DeleteInferred removes an object that is gone, nobody knows in which state. obj
	// is what the sink holds.
	DeleteInferred(obj T) error
}

// Marker is what a Sink implements that wants to know how far it is; deltafifo.Queue does.
type Marker interface {
	// Mark says that everything up to resourceVersion has been given to the sink: after each
	// batch of events, bookmarks among them, that moved the resume point, and after each
	// Replace, before Relist returns for it. Then the version may be lower than before, if
	// the server's storage went back. It is never empty or "0".
	//
	// Objects may be ahead of the marks: the version of an object says nothing of others.
	Mark(resourceVersion string)
}
