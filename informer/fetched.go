package informer

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/bound"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/store"
)

// fetched is what Gets have brought, by key: versions to which the watch has not come, so that they say nothing of other
// objects.
type fetched struct {
	mu       sync.Mutex
	versions map[string]string
}

func (f *fetched) note(key, version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.versions == nil {
		f.versions = map[string]string{}
	}
	f.versions[key] = version
}

// was reports whether a Get has brought this version of an object, and forgets about the object: what comes next of it comes
// of the watch.
func (f *fetched) was(key, version string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	got, ok := f.versions[key]
	delete(f.versions, key)
	return ok && got == version
}

// fetcher is a ListWatcher that fetches single objects, and takes note of them.
type fetcher[T store.Object] struct {
	listwatch.ListWatcher[T]
	get  func(ctx context.Context, key string) (T, listwatch.Meta, error)
	note func(key, version string)
}

// noting returns lw, with a note taken of what it fetches, if it does that at all.
func noting[T store.Object](lw listwatch.ListWatcher[T], note func(key, version string)) listwatch.ListWatcher[T] {
	if getter, ok := lw.(listwatch.Getter[T]); ok {
		return fetcher[T]{lw, bound.Fetch[T, listwatch.Meta](getter), note}
	}
	return lw
}

// Get implements [listwatch.Getter].
func (f fetcher[T]) Get(ctx context.Context, key string) (T, listwatch.Meta, error) {
	obj, meta, err := f.get(ctx, key)
	if err == nil {
		f.note(key, meta.ResourceVersion)
	}
	return obj, meta, err
}

// ListKnown implements [listwatch.KnownLister], for those that do.
func (f fetcher[T]) ListKnown(ctx context.Context, opts metav1.ListOptions, known listwatch.Known[T]) (*listwatch.Page[T], error) {
	if lw, ok := f.ListWatcher.(listwatch.KnownLister[T]); ok {
		return lw.ListKnown(ctx, opts, known)
	}
	return f.List(ctx, opts)
}
