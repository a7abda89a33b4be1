package source

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Funcs makes a [ListWatcher] of two functions: for objects that come from somewhere else than a
// listwatch.Client, and for tests. Both must be set.
type Funcs[T any] struct {
	// ListFunc returns one page, as ListWatcher.List does. It must obey ResourceVersion, Limit and
	// Continue, and also FieldSelector: a reflector asks for single objects with metadata.name and
	// metadata.namespace.
	ListFunc func(ctx context.Context, opts metav1.ListOptions) (*Page[T], error)

	// WatchFunc opens a stream, as ListWatcher.Watch does. The stream must end when ctx does.
	WatchFunc func(ctx context.Context, opts metav1.ListOptions) (Watch[T], error)

	// Name says what is listed, as in the log of an informer. It may be empty.
	Name string
}

// List calls ListFunc.
func (f Funcs[T]) List(ctx context.Context, opts metav1.ListOptions) (*Page[T], error) {
	return f.ListFunc(ctx, opts)
}

// Watch calls WatchFunc.
func (f Funcs[T]) Watch(ctx context.Context, opts metav1.ListOptions) (Watch[T], error) {
	return f.WatchFunc(ctx, opts)
}

// String returns Name.
func (f Funcs[T]) String() string { return f.Name }
