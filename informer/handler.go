package informer

import (
	"time"

	"github.com/relist-go/relist/store"
)

// Handler is a set of callbacks, in the manner of net/http/httptrace.ClientTrace: any of them may be nil.
//
// They are called one at a time, on a goroutine that belongs to this handler alone, and may take as long as they need. The
// changes of one object come in the order in which they happened. While they wait they are merged, so that an object never
// has more than one pending change:
//
//   - Updates become one, from the state that the handler was told last to the latest.
//   - A deletion followed by a re-creation stays what it is, OnDelete and then OnAdd, and never becomes an update.
//   - An object that came and went before its OnAdd was called is not mentioned at all, and one that was made again and
//     went again while the OnDelete of its predecessor waited, neither.
//
// When a callback is called the store has the change already, in every index, and may have later ones too.
//
// An object that comes again as it was, with the UID, the resourceVersion and the content that the store has for it, calls
// nobody. That is what a relist consists of, mostly. The content is compared because a server that was restored from a backup
// gives its versions out again. A transform that clears the resourceVersion takes away the means to see this: then every object
// that is listed again is an OnUpdate. Clear what is large, and leave the version.
type Handler[T store.Object] struct {
	// OnAdd is called for an object that the handler has not been told of yet. It is initial if it was in the first list,
	// or in the store when the handler was added; and when the last of these has returned, [Registration.Synced] is closed.
	OnAdd func(obj T, initial bool)

	// OnUpdate is called with the state that the handler was told last, and the latest. On a resync both are the same.
	OnUpdate func(old, obj T)

	// OnDelete is called with the last state known. It is the one in which the object was deleted, unless
	// finalStateUnknown: then nobody saw the deletion, which a list or a re-creation has made certain, and the object may
	// have changed before.
	OnDelete func(obj T, finalStateUnknown bool)

	// Resync is the period in which every object is offered once more, as OnUpdate(obj, obj), to bring a handler back on
	// course that works against something which drifts. The objects are spread over the period, the first of them a
	// period after the handler was added; one that has a change pending is left out. If zero or negative, never.
	Resync time.Duration

	// Name stands for the handler in errors. It may be empty.
	Name string
}
