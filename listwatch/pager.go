package listwatch

import (
	"context"
	"fmt"
	"iter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/object"
)

// List is a whole list, assembled from its pages.
type List[T any] struct {
	// Items are in the server's order. Metas are their metadata as they came over the wire; Metas is nil if a
	// page had none, see [Page].
	Items []T
	Metas []Meta

	// Errors are the items that could not be decoded or transformed.
	Errors []*ObjectError

	// Reused is the number of Items that were taken from the caller's known objects; see [AllKnown].
	Reused int

	// ResourceVersion is the version of the first page. A server serves all pages of one list at this version; if
	// a server mixes versions, the first page has the oldest.
	ResourceVersion string

	// Pages is the number of pages received. It includes the pages of a list that was abandoned because its
	// continue token expired.
	Pages int
}

// Meta returns the metadata of an item as they came over the wire. If the list has no Metas, Meta reads them
// from the object; ok is false if the object has no methods for them.
func (l *List[T]) Meta(i int) (meta Meta, ok bool) {
	if len(l.Metas) == len(l.Items) {
		return l.Metas[i], true
	}
	obj, ok := any(l.Items[i]).(object.Object)
	if !ok {
		return Meta{}, false
	}
	return Meta{Key: object.Key(obj), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion()}, true
}

// maxEmptyPages is how many pages in a row may be empty. A server that searches for rare objects may send some
// empty pages. But 10,000 of them would be a search through millions of objects, more than a server stores, so
// the server must be repeating itself with new tokens.
const maxEmptyPages = 10_000

// All lists a resource in pages of opts.Limit objects. If the limit is zero, it asks for one page with all
// objects.
//
// Only the first request carries resourceVersion and resourceVersionMatch, because the API forbids both beside
// a continue token. If a token has expired, the server has compacted away the version of the pages received so
// far. All then discards them and asks once for the whole list without a limit.
//
// A server may answer with more objects than the limit, with an empty page that has a continue token, or with
// all objects at once. All accepts each of these. If the pages would never end, All returns [ErrContinueLoop].
// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
func All[T any](ctx context.Context, lw ListWatcher[T], opts metav1.ListOptions) (*List[T], error) {
	return all(ctx, lw.List, opts)
}

// all assembles a list from the pages that get returns.
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
		if err := path.follow(page.Continue, list, len(page.Items), len(page.Errors)); err != nil {
			return nil, err
		}
		next.Continue = page.Continue
		next.ResourceVersion, next.ResourceVersionMatch = "", ""
	}
}

// maxRepeatedPages is how many pages in a row may contain only objects that the list has already. Without this
// limit, a list from a server that ignores the continue token and sends a new one each time would never end. A
// single page may come twice, for example from a proxy that retries.
const maxRepeatedPages = 10

// trail remembers what the pages of one list have brought.
type trail struct {
	tokens   map[string]bool
	keys     map[string]bool // of the pages so far
	empty    int             // pages in a row
	repeated int             // pages in a row
}

// follow records the continue token of a page, and returns an error if the pages would never end. items and
// bad are how many of the list's last items and errors came with this page.
func (t *trail) follow(token string, list keyed, items, bad int) error {
	if t.tokens[token] {
		return fmt.Errorf("%w (one of %d tokens has come back)", ErrContinueLoop, len(t.tokens))
	}
	if t.tokens == nil {
		t.tokens, t.keys = make(map[string]bool), make(map[string]bool)
	}
	t.tokens[token] = true
	if t.empty++; items+bad > 0 {
		t.empty = 0
	}
	if t.empty == maxEmptyPages {
		return fmt.Errorf("%w (%d empty pages in a row)", ErrContinueLoop, t.empty)
	}
	if t.repeated++; items+bad == 0 || t.isNew(list.lastKeys(items, bad)) {
		t.repeated = 0
	}
	if t.repeated == maxRepeatedPages {
		return fmt.Errorf("%w (%d pages in a row brought nothing new)", ErrContinueLoop, t.repeated)
	}
	return nil
}

// keyed is a [List] of any type.
type keyed interface {
	// lastKeys returns the keys of the last items and of the last errors, as many as items and bad say. "" stands
	// for a key that is not known.
	lastKeys(items, bad int) iter.Seq[string]
}

func (l *List[T]) lastKeys(items, bad int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := len(l.Items) - items; i < len(l.Items); i++ {
			meta, _ := l.Meta(i)
			if !yield(meta.Key) {
				return
			}
		}
		for _, err := range l.Errors[len(l.Errors)-bad:] {
			if !yield(err.Meta.Key) {
				return
			}
		}
	}
}

// isNew adds keys, and reports whether at least one of them is new. A key that is not known counts as new.
func (t *trail) isNew(keys iter.Seq[string]) (found bool) {
	for key := range keys {
		found = found || key == "" || !t.keys[key]
		t.keys[key] = true
	}
	return found
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

// Known returns the object that the caller of a list has under a key, and its metadata. It is called on the
// goroutine that lists.
type Known[T any] func(key string) (T, Meta, bool)

// KnownLister is implemented by a [ListWatcher] that can take objects from its caller instead of decoding
// them. [Resource] implements it. The ListKnown that a type gets by embedding a Resource is not used, because
// the type may have its own List. A type that wants it to be used holds the Resource in a named field and
// declares ListKnown itself.
type KnownLister[T any] interface {
	// ListKnown lists as List does. If an item has the UID and the resourceVersion of a known object, the page
	// contains the known object itself, which is neither decoded nor transformed again.
	//
	// A resourceVersion is only meaningful within one history of the server. After the server's storage was
	// restored from a backup, the same version may stand for another state. The caller can see this in two ways:
	// the page's version is older than the version up to which the known objects are, or an item is not newer
	// than that version and yet differs from the version of the known object. The caller must then not use a page
	// with Reused items.
	ListKnown(ctx context.Context, opts metav1.ListOptions, known Known[T]) (*Page[T], error)
}

// AllKnown is [All] with known objects. If lw is not a [KnownLister], or known is nil, AllKnown does the same
// as All.
func AllKnown[T any](ctx context.Context, lw ListWatcher[T], opts metav1.ListOptions, known Known[T]) (*List[T], error) {
	list := lw.List
	k, ok := lw.(KnownLister[T])
	if r, embedded := lw.(interface{ itself() any }); embedded && r.itself() != any(lw) {
		ok = false // lw embeds a Resource, whose ListKnown would bypass lw's own List
	}
	if ok && known != nil {
		list = func(ctx context.Context, opts metav1.ListOptions) (*Page[T], error) {
			return k.ListKnown(ctx, opts, known)
		}
	}
	return all(ctx, list, opts)
}
