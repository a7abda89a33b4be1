package listwatch

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// Get fetches the most recent state of the object under key, which is namespace/name, or
// name for a cluster-scoped object. The error is an [ObjectError] if the object is there
// and cannot be decoded or transformed, and satisfies apierrors.IsNotFound if it is not
// there. The selectors of the resource do not count.
func (r *Resource[T]) Get(ctx context.Context, key string) (T, Meta, error) {
	obj, meta, err := r.get(ctx, key)
	if err != nil {
		return obj, meta, describe("get "+key+" of", r.gvr.GroupResource().String(), err)
	}
	return obj, meta, nil
}

func (r *Resource[T]) get(ctx context.Context, key string) (obj T, meta Meta, err error) {
	namespace, name, err := store.SplitKey(key)
	if err != nil {
		return obj, meta, err
	}
	path, err := Path(r.gvr, namespace)
	if err != nil {
		return obj, meta, err
	}
	resp, err := r.client.Get(ctx, transport.Request{Path: path + transport.EscapePath(name), Accept: r.decoder.acceptObject(), Status: r.decoder.status()})
	if err != nil {
		return obj, meta, err
	}
	defer resp.Body.Close()
	encoding, ok := r.decoder.encoding(resp.MediaType)
	if !ok {
		return obj, meta, resp.UnexpectedContent()
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxObjectBytes+1))
	switch {
	case err != nil:
		return obj, meta, err
	case len(data) > maxObjectBytes:
		return obj, meta, ErrObjectTooLarge
	}
	kind := r.expected()
	if err := kind.check(encoding.Kind(data, false)); err != nil {
		bad := refuse(encoding, data, err)
		return obj, bad.Meta, bad
	}
	obj, meta, bad := r.decoder.decode(encoding, data, schema.GroupVersionKind{})
	if bad != nil {
		return obj, meta, bad
	}
	if meta.Key != key {
		return obj, meta, fmt.Errorf("%w: %s instead of %s", errMalformed, meta.Key, key)
	}
	return obj, meta, nil
}
