package trace

import (
	"cmp"
	"slices"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
)

// remoteQueue gives a queue to a reflector as if its objects were elsewhere, in a database for example: the reflector gets metadata
// of it, and hands over lists in parts.
type remoteQueue[T object.Object] struct {
	savingQueue[T]

	list []T // the parts that have come
}

var _ reflector.Remote[object.Object] = (*remoteQueue[object.Object])(nil)

// Expect implements [reflector.Remote].
func (q *remoteQueue[T]) Expect([]string) {}

// Meta implements [reflector.Remote].
func (q *remoteQueue[T]) Meta(key string) (listwatch.Meta, bool) {
	obj, ok := q.Get(key)
	if !ok {
		return listwatch.Meta{}, false
	}
	return listwatch.Meta{Key: key, UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion()}, true
}

// DeleteMissing implements [reflector.Remote].
func (q *remoteQueue[T]) DeleteMissing(meta listwatch.Meta) error {
	obj, ok := q.Get(meta.Key)
	if !ok {
		return nil
	}
	return q.DeleteInferred(obj)
}

// BeginList implements [reflector.Remote].
func (q *remoteQueue[T]) BeginList() { q.list = nil }

// ListPart implements [reflector.Remote].
func (q *remoteQueue[T]) ListPart(objects []T, _ []listwatch.Meta, same []string) error {
	part := slices.Concat(objects, q.held(same))
	if len(same) > 0 { // as the server sends them
		slices.SortStableFunc(part, func(a, b T) int { return cmp.Compare(object.Key(a), object.Key(b)) })
	}
	q.list = append(q.list, part...)
	return nil
}

// EndList implements [reflector.Remote].
func (q *remoteQueue[T]) EndList(resourceVersion string, keep []string, keepAll bool) error {
	list := slices.Concat(q.list, q.held(keep))
	if keepAll {
		listed := map[string]bool{}
		for _, obj := range list {
			listed[object.Key(obj)] = true
		}
		for _, obj := range q.held(q.Keys()) {
			if !listed[object.Key(obj)] {
				list = append(list, obj)
			}
		}
	}
	q.list = nil
	return q.Replace(list, resourceVersion)
}

// DropList implements [reflector.Remote].
func (q *remoteQueue[T]) DropList() { q.list = nil }

// held returns the objects under keys.
func (q *remoteQueue[T]) held(keys []string) []T {
	var objects []T
	for _, key := range keys {
		if obj, ok := q.Get(key); ok {
			objects = append(objects, obj)
		}
	}
	return objects
}
