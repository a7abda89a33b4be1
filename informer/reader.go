package informer

import (
	"iter"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/store"
)

// Reader is a [store.Store] without the methods that write, because only the informer writes. Any
// goroutine may use it, callbacks included. Objects are shared: nobody may change one.
type Reader[T object.Object] interface {
	// Get returns the object of key, which is namespace/name, or name for a cluster-scoped object.
	Get(key string) (T, bool)

	// List returns all objects, and Keys all keys, in key order.
	List() []T
	Keys() []string

	// All is an iterator over keys and objects, in key order, as they are when the iteration
	// begins.
	All() iter.Seq2[string, T]

	// Len returns the number of objects.
	Len() int

	// ByIndex returns the objects that an index has under value, in key order. The error for an
	// index that was never added satisfies errors.Is with [store.ErrUnknownIndex].
	ByIndex(index, value string) ([]T, error)

	// In returns the objects of a namespace, in key order, and does not look at others. If
	// namespace is empty, In returns all objects. [store.Select] chooses among them by labels.
	In(namespace string) []T

	// IndexKeys returns the keys of the objects that ByIndex returns. IndexValues returns the
	// values under which an index has objects, sorted. The errors are those of ByIndex.
	IndexKeys(index, value string) ([]string, error)
	IndexValues(index string) ([]string, error)

	// AddIndexer adds an index, also while the informer runs. See [store.Store.AddIndexer].
	AddIndexer(name string, fn func(T) []string) error

	// Snapshot returns the state at this moment. It costs next to nothing.
	Snapshot() *store.Snapshot[T]

	// ResourceVersion returns the version up to which the store has everything, except objects that
	// could not be decoded, which [reflector.Status] names. Single objects may be newer. It is
	// empty until the first list has been applied. It goes back only if the server was restored
	// from a backup.
	ResourceVersion() string
}
