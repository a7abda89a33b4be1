package listwatch

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// List is a whole list, put together from its pages.
type List[T any] struct {
	// Items are in the server's order.
	Items []T

	// Errors are the items that could not be decoded or transformed.
	Errors []*ObjectError

	// ResourceVersion is that of the first page: the version at which all pages
	// of one list are served, and the oldest where a server mixes them.
	ResourceVersion string

	// Pages is the number of answers that it took, with those of a list that
	// was abandoned because its continue token expired.
	Pages int
}

// All lists a resource in pages of opts.Limit objects; a limit of zero asks for
// everything at once.
//
// Only the first request carries resourceVersion and resourceVersionMatch,
// which the API forbids beside a continue token. When a token has expired, the
// pages so far belong to a version that the server has compacted away: the
// whole list is asked for again, once, without a limit.
//
// A server may answer with more objects than the limit, with a page that is
// empty and still continues, or with everything at once; each is a list.
// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
func All[T any](ctx context.Context, lw ListWatcher[T], opts metav1.ListOptions) (*List[T], error) {
	list := &List[T]{}
	next := opts
	restarted := false
	for {
		page, err := lw.List(ctx, next)
		if next.Continue != "" && !restarted && apierrors.IsResourceExpired(err) {
			restarted = true
			next = opts
			next.Limit = 0
			list = &List[T]{Pages: list.Pages}
			continue
		}
		if err != nil {
			return nil, err
		}
		if page.Continue != "" && page.Continue == next.Continue {
			return nil, ErrContinueLoop
		}
		list.add(page)
		if page.Continue == "" {
			return list, nil
		}
		next.Continue = page.Continue
		next.ResourceVersion, next.ResourceVersionMatch = "", ""
	}
}

func (l *List[T]) add(page *Page[T]) {
	if l.Pages == 0 || l.ResourceVersion == "" {
		l.ResourceVersion = page.ResourceVersion
	}
	l.Pages++
	if l.Items == nil {
		l.Items = page.Items // the common list has one page; it is not copied
	} else {
		l.Items = append(l.Items, page.Items...)
	}
	l.Errors = append(l.Errors, page.Errors...)
}
