// Package source is what a reflector reads from: a [ListWatcher], whose pages and events are
// declared here.
//
// It knows neither HTTP nor formats. listwatch.Client is the ListWatcher that asks an API server; a
// program with an HTTP stack of its own, a cache or a test writes another. [All], [Each] and
// [EachKnown] make whole lists of pages, and a [RetryWatcher] makes one watch of many.
package source

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/hook"
	"github.com/relist-go/relist/object"
)

// ListWatcher lists a resource and watches it. listwatch.Client implements it with requests to an
// API server. A test or a cache can implement it, too.
//
// Both methods may be called from several goroutines. Both return when ctx ends. If the
// server refuses a request, the error's chain contains a *apierrors.StatusError (from
// k8s.io/apimachinery/pkg/api/errors).
type ListWatcher[T any] interface {
	// List returns one page. It changes no option except the selectors: it adds those that the
	// ListWatcher was made with to those in opts, and an object must match all of them.
	List(ctx context.Context, opts metav1.ListOptions) (*Page[T], error)

	// Watch opens a stream of events. The stream ends when ctx does.
	Watch(ctx context.Context, opts metav1.ListOptions) (Watch[T], error)
}

// Page is the answer to one list request.
type Page[T any] struct {
	// Items are in the server's order.
	Items []T

	// Metas are the metadata of Items as they came over the wire, before any transform, in the
	// same order. A ListWatcher that does not know them leaves Metas nil. The metadata then come
	// from the objects' own methods, if T is an object.Object.
	Metas []object.Meta

	// Errors are the items that could not be decoded or transformed, in the
	// server's order. They are not in Items.
	Errors []*ObjectError

	// ResourceVersion is the version of the collection. A watch continues from this version. It
	// is not the highest version of an item.
	ResourceVersion string

	// Continue is the token for the next page; empty on the last.
	Continue string

	// Remaining is the server's estimate of the objects that follow this page. It is nil if the
	// server does not send one, as in lists with selectors.
	Remaining *int64
}

// Watch is a stream of events, read by one goroutine.
type Watch[T any] interface {
	// Next waits for an event. It returns io.EOF if the server ended the stream properly, a
	// *apierrors.StatusError for an ERROR event, and another error if the stream broke. After an
	// error, every call returns the same error.
	Next() (Event[T], error)

	// Close closes the stream. A Next that is waiting returns an error.
	Close() error
}

// Readier is implemented by a [Watch] that may have several events in memory, such as a watch
// over a chunked body. A reflector processes the events that arrived together in one batch.
type Readier interface {
	// Ready reports whether Next is known to return without waiting for the server. The
	// goroutine that calls Next calls it.
	Ready() bool
}

// Event is one line of a watch.
type Event[T any] struct {
	// Type is the event's type. If the object is not of the resource's kind, Type is
	// object.Modified, because the type on the wire is then not about this resource.
	Type object.EventType

	// Object is the object after the event, or, for Deleted, its last state. Object is the zero
	// T for a Bookmark, and if Err is set.
	Object T

	// Meta is the object's metadata as it came over the wire, before any transform. A Bookmark has
	// only a ResourceVersion. Every ListWatcher must set it: Key, UID and ResourceVersion.
	Meta object.Meta

	// InitialEventsEnd marks the bookmark that ends the initial events of a
	// watch that asked for them.
	InitialEventsEnd bool

	// Err says why Object could not be decoded or transformed. Meta then holds the metadata that
	// could be read. The stream continues.
	Err *ObjectError
}

// ReadHook returns the function that a [ListWatcher] should call with the number of bytes whenever
// some of an answer have arrived, so that a reflector does not take a list of many minutes, or a
// watch in the middle of a large event, for dead. It is nil if nobody asked. package transport
// calls it for every request.
func ReadHook(ctx context.Context) func(n int) { return hook.From[hook.Read](ctx) }
