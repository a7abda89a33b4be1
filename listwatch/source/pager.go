package source

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/hook"
	"github.com/relist-go/relist/object"
)

// List is a whole list, assembled from its pages.
type List[T any] struct {
	// Items are in the server's order. Metas are their metadata as they came over the wire; Metas
	// is nil if a page had none, see [Page].
	Items []T
	Metas []object.Meta

	// Errors are the items that could not be decoded or transformed.
	Errors []*ObjectError

	// ResourceVersion is the version of the first page. A server serves all pages of one list at
	// this version; if a server mixes versions, the first page has the oldest.
	ResourceVersion string

	// Pages is the number of pages received. It includes the pages of a list that was abandoned
	// because its continue token expired.
	Pages int

	// ConnGone reports whether the connection over which the first page came has been closed since.
	// If it returns true when a watch from the version of the list is answered, the server may have
	// been started again in between, and its storage may have been restored from a backup. It
	// returns false if nothing is known of the connections, because a RoundTripper of the program's
	// makes them. It is nil in a List that All and Each have not made.
	ConnGone func() bool
}

// Meta returns the metadata of an item as they came over the wire. If the list has no Metas, Meta
// reads them from the object; ok is false if the object has no methods for them.
func (l *List[T]) Meta(i int) (meta object.Meta, ok bool) { return metaOf(l.Items, l.Metas, i) }

func metaOf[T any](items []T, metas []object.Meta, i int) (meta object.Meta, ok bool) {
	if len(metas) == len(items) {
		return metas[i], true
	}
	obj, ok := any(items[i]).(object.Object)
	if !ok {
		return object.Meta{}, false
	}
	return object.Meta{Key: object.Key(obj), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion()}, true
}

// All lists a resource in pages of opts.Limit objects. If the limit is zero, it asks for one page
// with all objects.
//
// Only the first request carries resourceVersion and resourceVersionMatch, because the API forbids
// both beside a continue token. If a token has expired, the server has compacted away the version
// of the pages received so far. If the version of a token is too large for the server, its watch
// cache stands still: kube-apiserver then reads the first page of a list of the most recent state
// from etcd, but not the next ones. In both cases, All discards the pages and asks once for the
// whole list without a limit.
//
// A server may answer with more objects than the limit, with an empty page that has a continue
// token, or with all objects at once. All accepts each of these. If a page continues at itself, or
// 10 pages in a row bring no new object, the pages would never end, and All returns an error for
// which [IsMalformed] is true. Source:
// https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
func All[T any](ctx context.Context, lw ListWatcher[T], opts metav1.ListOptions) (*List[T], error) {
	return all(ctx, lw.List, opts)
}

// all assembles a list from the pages that get returns.
func all[T any](ctx context.Context, get pageFunc[T], opts metav1.ListOptions) (*List[T], error) {
	var whole List[T]
	list, err := each(ctx, wholePages(get), opts, func(p Part[T]) error {
		if p.Again {
			whole = List[T]{}
		}
		whole.add(p)
		return nil
	})
	if err != nil {
		return nil, err
	}
	list.Items, list.Metas, list.Errors = whole.Items, whole.Metas, whole.Errors
	return list, nil
}

type (
	// pageFunc returns one page of a list.
	pageFunc[T any] func(ctx context.Context, opts metav1.ListOptions) (*Page[T], error)

	// partsFunc hands over the objects of one page, and returns the rest of the page.
	partsFunc[T any] func(ctx context.Context, opts metav1.ListOptions, part func(Part[T]) error) (*Page[T], error)
)

// wholePages returns a partsFunc that hands over each page in one part.
func wholePages[T any](get pageFunc[T]) partsFunc[T] {
	return func(ctx context.Context, opts metav1.ListOptions, part func(Part[T]) error) (*Page[T], error) {
		page, err := get(ctx, opts)
		if err != nil {
			return nil, err
		}
		return page, part(Part[T]{Items: page.Items, Metas: page.Metas, Errors: page.Errors, Remaining: page.Remaining})
	}
}

// each asks for page after page, and hands over the parts of each. The List that it returns has no
// objects.
func each[T any](ctx context.Context, get partsFunc[T], opts metav1.ListOptions, part func(Part[T]) error) (*List[T], error) {
	conns := &conns{}
	ctx = hook.With[hook.Conn](ctx, conns.answered)
	list := &List[T]{ConnGone: conns.gone}
	next := opts
	restarted := false
	path := trail{}
	for {
		var refused error
		page, err := get(ctx, next, func(p Part[T]) error {
			p.walk(&path)
			p.Reconnected = conns.reconnected()
			refused = part(p)
			return refused
		})
		if refused != nil {
			return nil, refused // whatever it is: it is not about the request
		}
		if next.Continue != "" && !restarted && (apierrors.IsResourceExpired(err) || IsTooLarge(err)) {
			restarted = true
			next = opts
			next.Limit = 0
			conns.again()
			list = &List[T]{Pages: list.Pages, ConnGone: conns.gone}
			path = trail{}
			if err := part(Part[T]{Again: true}); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if list.Pages == 0 || list.ResourceVersion == "" {
			list.ResourceVersion = page.ResourceVersion
		}
		list.Pages++
		if page.Continue == "" {
			return list, nil
		}
		if err := path.follow(next.Continue, page.Continue); err != nil {
			return nil, err
		}
		next.Continue = page.Continue
		next.ResourceVersion, next.ResourceVersionMatch = "", ""
	}
}

func (l *List[T]) add(p Part[T]) {
	metas := p.Metas
	if len(metas) != len(p.Items) || len(l.Metas) != len(l.Items) {
		metas, l.Metas = nil, nil
	}
	if l.Items == nil {
		l.Items, l.Metas = p.Items, metas // the common list has one page; it is not copied
	} else {
		l.Items, l.Metas = append(l.Items, p.Items...), append(l.Metas, metas...)
	}
	l.Errors = append(l.Errors, p.Errors...)
}

// embedsResource reports whether lw embeds a listwatch.Client. The methods that lw has from it
// beside those of a [ListWatcher] would bypass lw's own List.
func embedsResource[T any](lw ListWatcher[T]) bool {
	r, ok := lw.(interface{ Itself() any })
	return ok && r.Itself() != any(lw)
}
