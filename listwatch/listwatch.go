package listwatch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/object"
)

// ListWatcher lists a resource and watches it. [Resource] is the one that talks
// to an API server; a test or a cache in between can be another.
//
// Both methods may be called from several goroutines. Both return when ctx
// ends. An answer other than success is a *apierrors.StatusError (of
// k8s.io/apimachinery/pkg/api/errors) somewhere in the error's chain.
type ListWatcher[T any] interface {
	// List returns one page. It sets no option of its own, and adds the selectors
	// it was made with to those in opts: an object must match all of them.
	List(ctx context.Context, opts metav1.ListOptions) (*Page[T], error)

	// Watch opens a stream of events. The stream ends when ctx does.
	Watch(ctx context.Context, opts metav1.ListOptions) (Watch[T], error)
}

// Page is the answer to one list request.
type Page[T any] struct {
	// Items are in the server's order.
	Items []T

	// Metas are the metadata of Items as they came over the wire, before any
	// transform, in the same order. A ListWatcher that does not know them leaves
	// Metas nil; then the objects' own methods tell, if they are a store.Object.
	Metas []Meta

	// Errors are the items that could not be decoded or transformed, in the
	// server's order. They are not in Items.
	Errors []*ObjectError

	// Reused is how many Items are objects that were known; see [KnownLister].
	Reused int

	// ResourceVersion is the version of the collection, where a watch goes on.
	// It is not the highest version of an item.
	ResourceVersion string

	// Continue is the token for the next page; empty on the last.
	Continue string

	// Remaining is the server's estimate of the objects that follow this page.
	// It is nil where the server does not say, as with selectors.
	Remaining *int64

	kind string // of the items; "" if the page does not tell
}

// Watch is a stream of events, read by one goroutine.
type Watch[T any] interface {
	// Next waits for an event. It returns io.EOF when the server ended the
	// stream in good order, a *apierrors.StatusError for an ERROR event, and
	// another error when the stream broke. No event follows an error: it stays.
	Next() (Event[T], error)

	// Close hangs up. A Next that is waiting returns an error.
	Close() error
}

// Readier is implemented by a [Watch] that may have several events in memory, as one over
// a chunked body has. A reflector works off those that came together at once.
type Readier interface {
	// Ready reports whether Next is known to return without waiting for the server. It is
	// called by whoever calls Next.
	Ready() bool
}

// Event is one line of a watch.
type Event[T any] struct {
	// Type is the word of the event. For an object of another kind than the
	// resource's it is Modified: what the event says is not about this resource.
	Type Type

	// Object is the object after the event; for Deleted, its last state. It is
	// the zero T for a Bookmark, and when Err is set.
	Object T

	// Meta is the object's metadata as it came over the wire, before any
	// transform. A Bookmark has only a ResourceVersion.
	Meta Meta

	// InitialEventsEnd marks the bookmark that ends the initial events of a
	// watch that asked for them.
	InitialEventsEnd bool

	// Err says why Object could not be decoded or transformed. Meta then holds
	// what could be read of it. The stream goes on.
	Err *ObjectError
}

// Meta identifies one version of one object.
type Meta = object.Meta

// Type is the type of a watch event. ERROR is not among them: it is an error
// from [Watch.Next].
type Type uint8

// The types of a watch event, as the API documentation names them:
// https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
const (
	Added Type = iota + 1
	Modified
	Deleted
	Bookmark
)

// String returns the word that stands on the wire.
func (t Type) String() string {
	switch t {
	case Added:
		return "ADDED"
	case Modified:
		return "MODIFIED"
	case Deleted:
		return "DELETED"
	case Bookmark:
		return "BOOKMARK"
	}
	return "UNKNOWN"
}

// parseType is the inverse of String.
func parseType(word string) (Type, bool) {
	for t := Added; t <= Bookmark; t++ {
		if t.String() == word {
			return t, true
		}
	}
	return 0, false
}
