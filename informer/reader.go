package informer

import (
	"iter"

	"github.com/relist-go/relist/store"
)

// Reader is the side of a [store.Store] that is there for the users of an informer: all of it but the writing, which is
// the informer's. Any goroutine may use it, callbacks included. Objects are shared: nobody may change one.
type Reader[T store.Object] interface {
	// Get returns the object of key, which is namespace/name, or name for a cluster-scoped object.
	Get(key string) (T, bool)

	// List returns all objects, and Keys all keys, in key order.
	List() []T
	Keys() []string

	// All is an iterator over keys and objects, in key order, as they are when the iteration begins.
	All() iter.Seq2[string, T]

	// Len returns the number of objects.
	Len() int

	// ByIndex returns the objects that an index has under value, in key order. The error for an index that was never added
	// satisfies errors.Is with [store.ErrUnknownIndex].
	ByIndex(index, value string) ([]T, error)

	// AddIndexer adds an index, also while the informer runs. See [store.Store.AddIndexer].
	AddIndexer(name string, fn func(T) []string) error

	// Snapshot returns the state at this moment. It costs next to nothing.
	Snapshot() *store.Snapshot[T]

	// ResourceVersion is the version up to which the store has everything. Objects that could not be decoded or indexed are
	// excepted: [reflector.Status] and [Options.Problem] name them. Single objects may be newer. It is empty before the first
	// list has been applied, and goes back only with a server that was restored from a backup.
	ResourceVersion() string
}
