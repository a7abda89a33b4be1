package listwatch

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/store"
)

// List is a whole list, put together from its pages.
type List[T any] struct {
	// Items are in the server's order, and Metas are their metadata as they came over
	// the wire; nil if a page did not tell, see [Page].
	Items []T
	Metas []Meta

	// Errors are the items that could not be decoded or transformed.
	Errors []*ObjectError

	// Reused is how many Items are objects that were known; see [AllKnown].
	Reused int

	// ResourceVersion is that of the first page: the version at which all pages
	// of one list are served, and the oldest where a server mixes them.
	ResourceVersion string

	// Pages is the number of answers that it took, with those of a list that
	// was abandoned because its continue token expired.
	Pages int
}

// Meta returns the metadata of an item as they came over the wire. If the list does not
// have them, it asks the object; ok is false if that does not tell either.
func (l *List[T]) Meta(i int) (meta Meta, ok bool) {
	if len(l.Metas) == len(l.Items) {
		return l.Metas[i], true
	}
	obj, ok := any(l.Items[i]).(store.Object)
	if !ok {
		return Meta{}, false
	}
	return Meta{Key: store.Key(obj), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion()}, true
}

// maxEmptyPages is how many pages in a row may be empty. A server that looks for rare
// objects may send some; as many as these are a walk through millions of objects, more
// than a server stores, or a walk in a circle with a new token at each step.
const maxEmptyPages = 10_000

// All lists a resource in pages of opts.Limit objects; a limit of zero asks for
// everything at once.
//
// Only the first request carries resourceVersion and resourceVersionMatch,
// which the API forbids beside a continue token. When a token has expired, the
// pages so far belong to a version that the server has compacted away: the
// whole list is asked for again, once, without a limit.
//
// A server may answer with more objects than the limit, with a page that is
// empty and still continues, or with everything at once; each is a list. A server
// that continues without end is [ErrContinueLoop].
// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
func All[T any](ctx context.Context, lw ListWatcher[T], opts metav1.ListOptions) (*List[T], error) {
	return all(ctx, lw.List, opts)
}

// all puts together what get returns.
func all[T any](ctx context.Context, get func(context.Context, metav1.ListOptions) (*Page[T], error), opts metav1.ListOptions) (*List[T], error) {
	list := &List[T]{}
	next := opts
	restarted := false
	path := trail{}
	for {
		page, err := get(ctx, next)
		if next.Continue != "" && !restarted && apierrors.IsResourceExpired(err) {
			restarted = true
			next = opts
			next.Limit = 0
			list = &List[T]{Pages: list.Pages}
			path = trail{}
			continue
		}
		if err != nil {
			return nil, err
		}
		list.add(page)
		if page.Continue == "" {
			return list, nil
		}
		if err := path.follow(page.Continue, len(page.Items)+len(page.Errors)); err != nil {
			return nil, err
		}
		next.Continue = page.Continue
		next.ResourceVersion, next.ResourceVersionMatch = "", ""
	}
}

// trail is the way through the pages of one list.
type trail struct {
	seen  map[string]bool // continue tokens
	empty int             // pages in a row
}

// follow takes the token of a page that brought so many objects, and fails where the
// way does not lead on.
func (t *trail) follow(token string, objects int) error {
	if t.seen[token] {
		return fmt.Errorf("%w (one of %d tokens has come back)", ErrContinueLoop, len(t.seen))
	}
	if t.seen == nil {
		t.seen = make(map[string]bool)
	}
	t.seen[token] = true
	if t.empty++; objects > 0 {
		t.empty = 0
	}
	if t.empty == maxEmptyPages {
		return fmt.Errorf("%w (%d empty pages in a row)", ErrContinueLoop, t.empty)
	}
	return nil
}

func (l *List[T]) add(page *Page[T]) {
	if l.Pages == 0 || l.ResourceVersion == "" {
		l.ResourceVersion = page.ResourceVersion
	}
	l.Pages++
	metas := page.Metas
	if len(metas) != len(page.Items) || len(l.Metas) != len(l.Items) {
		metas, l.Metas = nil, nil
	}
	if l.Items == nil {
		l.Items, l.Metas = page.Items, metas // the common list has one page; it is not copied
	} else {
		l.Items, l.Metas = append(l.Items, page.Items...), append(l.Metas, metas...)
	}
	l.Errors = append(l.Errors, page.Errors...)
	l.Reused += page.Reused
}
