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
