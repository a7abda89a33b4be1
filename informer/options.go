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
	// be indexed is left in the store as it was, and no handler hears of it, until it changes again. Problem is told once of
	// each state of such an object, although every list brings it again.
	//
	// For a callback it runs where the panic was and counts as part of the callback, so that several may run at a time. For
	// index functions it runs on a goroutine of its own, one call after the other; of several problems of one object that
	// wait for it the latest stays. It may do what a callback may: call Relist, or WaitFor. What waits for it when Run ends is
	// dropped. A panic of its own ends the program.
	//
	// If nil, the first panic ends Run, which returns it, and no callback begins any more: nobody who has not asked to go on
	// after a panic does.
	Problem func(err error)
}
