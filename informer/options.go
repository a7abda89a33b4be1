package informer

import (
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// Options of an [Informer]. The zero value is ready.
type Options[T store.Object] struct {
	// Indexers are the indexes that the store has from the start. More can be added later, by the AddIndexer of what
	// [Informer.Store] returns. If nil, there are none.
	Indexers store.Indexers[T]

	// Reflector configures how the resource is listed and watched, and Reflector.Trace is told what happens on the way.
	// Its Resync is not used: here every handler has a period of its own, [Handler.Resync].
	Reflector reflector.Options

	// Problem is told when code of the program's own panicked: a [*PanicError] if it was a callback, a [*store.IndexError],
	// wrapped, if it was an index function. The callback's handler goes on with the next object; an object that could not
	// be indexed is left in the store as it was, and no handler hears of it, until it changes again.
	//
	// It runs where the panic was, several at a time if several handlers panic, and counts as part of the callback. A panic
	// of its own ends the program.
	//
	// If nil, the first panic ends Run, which returns it: nobody who has not asked to go on after a panic does.
	Problem func(err error)
}
