package listwatch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/internal/wire"
)

// Known returns the object that the caller of a list has under a key, and which version
// of which object it is. It is called on the goroutine that lists.
type Known[T any] func(key string) (T, Meta, bool)

// KnownLister is implemented by a [ListWatcher] that need not decode what its caller
// has already. [Resource] does.
type KnownLister[T any] interface {
	// ListKnown lists as List does. Where an item has the UID and the resourceVersion of
	// a known object, that is what stands in its place, as it is: it is neither decoded
	// nor transformed again.
	//
	// A resourceVersion says what it says within one history of the server. After its
	// storage was restored from a backup, the same version may stand for something else:
	// a caller that finds the page's version older than what it knows from, or an item
	// that has not changed since and that it knows at another version, must not use a
	// page with Reused items.
	ListKnown(ctx context.Context, opts metav1.ListOptions, known Known[T]) (*Page[T], error)
}

// ListKnown implements [KnownLister].
func (r *Resource[T]) ListKnown(ctx context.Context, opts metav1.ListOptions, known Known[T]) (*Page[T], error) {
	page, err := r.list(ctx, opts, known)
	if err != nil {
		return nil, describe("list", r.what, err)
	}
	return page, nil
}

// AllKnown is [All] with what is known. If lw is no [KnownLister], or known is nil, it
// makes no difference.
func AllKnown[T any](ctx context.Context, lw ListWatcher[T], opts metav1.ListOptions, known Known[T]) (*List[T], error) {
	list := lw.List
	if k, ok := lw.(KnownLister[T]); ok && known != nil {
		list = func(ctx context.Context, opts metav1.ListOptions) (*Page[T], error) {
			return k.ListKnown(ctx, opts, known)
		}
	}
	return all(ctx, list, opts)
}

// identifier is implemented by an Encoding that can tell which version of which object
// it is without decoding it.
type identifier interface {
	identity(object []byte) wire.Identity
}

// identity implements identifier.
func (jsonEncoding) identity(object []byte) wire.Identity { return wire.IdentityOf(object) }

// reuse returns the known object that has the UID and the resourceVersion of an item. Of
// the item no more is read than that, and where it ends.
func reuse[T any](encoding *encoded, item []byte, known Known[T]) (obj T, meta Meta, ok bool) {
	if known == nil || encoding.identify == nil {
		return obj, meta, false
	}
	id := encoding.identify(item)
	if len(id.Name) == 0 || len(id.UID) == 0 || len(id.ResourceVersion) == 0 {
		return obj, meta, false
	}
	key := keyOf(id)
	obj, meta, ok = known(key)
	if !ok || string(id.UID) != string(meta.UID) || string(id.ResourceVersion) != meta.ResourceVersion {
		return *new(T), Meta{}, false
	}
	meta.Key = key
	return obj, meta, true
}

// keyOf is the one allocation of an item that is known.
func keyOf(id wire.Identity) string {
	if len(id.Namespace) == 0 {
		return string(id.Name)
	}
	return string(id.Namespace) + "/" + string(id.Name)
}
