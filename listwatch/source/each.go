package source

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/object"
)

// Part is some objects of a list, in the server's order.
type Part[T any] struct {
	// Items, Metas and Errors are as in [Page]. The receiver may keep them.
	Items  []T
	Metas  []object.Meta
	Errors []*ObjectError

	// Again says that the list begins again, and that every earlier part of it is void: a continue
	// token has expired. Such a part has no objects.
	Again bool

	// Reconnected says that the connection over which the first page came was closed before this
	// part was asked for or while it was. If the server's storage was restored from a backup
	// meanwhile, the part is of another history than the parts before. It is false if nothing is
	// known of the connections, because a RoundTripper of the program's makes them.
	Reconnected bool

	// Remaining is the server's estimate of the objects that follow the page that this part is of.
	// It is nil if the server sends none, or has not sent it yet.
	Remaining *int64
}

// Meta returns the metadata of an item, as [List.Meta] does.
func (p Part[T]) Meta(i int) (meta object.Meta, ok bool) { return metaOf(p.Items, p.Metas, i) }

// walk records the objects on path. An object of a type without metadata counts as new.
func (p Part[T]) walk(path *trail) {
	for i := range p.Items {
		meta, ok := p.Meta(i)
		path.visit(meta.Key)
		path.isNew = path.isNew || !ok
	}
	for _, bad := range p.Errors {
		path.visit(bad.Meta.Key)
	}
}

// PartLister is implemented by a [ListWatcher] that can hand over a page in parts, while its bytes
// arrive. listwatch.Client implements it. The ListParts that a type gets by embedding a Client is
// not used, because the type may have its own List. A type that wants it to be used holds the
// Client in a named field and declares ListParts itself.
type PartLister[T any] interface {
	// ListParts lists as List does, and calls part with the objects of the page: at least once,
	// also if the page has none. The Page that it returns has none of them. If part returns an
	// error, ListParts stops and returns that error.
	//
	// If known is not nil, it returns the object that the caller has under a key, and its metadata.
	// If an item has their UID and resourceVersion, the part has the known object itself, which is
	// neither decoded nor transformed again.
	//
	// If ListParts returns an error, the page is not whole, whatever parts there were.
	ListParts(ctx context.Context, opts metav1.ListOptions, known func(key string) (T, object.Meta, bool), part func(Part[T]) error) (*Page[T], error)
}

// Each lists as [All] does, and hands the list over in parts, so that memory does not grow with the
// list. It calls part on the caller's goroutine, while the answer arrives: a server sends a list at
// resourceVersion "0" in one answer, however many objects there are. Until part returns, nothing
// more is read, so a slow part holds the connection up. If lw is not a [PartLister], each page is
// one part.
//
// If Each returns an error, the list is not whole, whatever parts there were. If part returns an
// error, Each returns that error. The List that Each returns has neither Items nor Errors.
func Each[T any](ctx context.Context, lw ListWatcher[T], opts metav1.ListOptions, part func(Part[T]) error) (*List[T], error) {
	return EachKnown(ctx, lw, opts, nil, part)
}

// EachKnown is [Each] with objects that the caller has: known returns the one under a key, and its
// metadata, on the caller's goroutine. If the server has an object at the same version, it is not
// decoded again. If known is nil, or lw is not a PartLister, every object is decoded.
//
// A resourceVersion is only meaningful within one history of the server. After the server's storage
// was restored from a backup, the same version may stand for another state. The caller can see this
// in two ways: the list's version is older than the version up to which the known objects are, or
// an item is not newer than that version and yet differs from the version of the known object. The
// caller must then not use a list with known objects.
func EachKnown[T any](
	ctx context.Context, lw ListWatcher[T], opts metav1.ListOptions, known func(key string) (T, object.Meta, bool), part func(Part[T]) error,
) (*List[T], error) {
	get := wholePages(lw.List)
	if parts, ok := lw.(PartLister[T]); ok && !embedsResource(lw) {
		get = func(ctx context.Context, opts metav1.ListOptions, part func(Part[T]) error) (*Page[T], error) {
			return parts.ListParts(ctx, opts, known, part)
		}
	}
	return each(ctx, get, opts, part)
}
