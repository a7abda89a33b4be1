package relist

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/writer"
)

// Objects are the objects of one type: a live cache of them, and what writes them. Package controller takes Objects where it
// takes an informer. [Open] makes them.
//
// Run keeps the cache live, and Store reads it. Create, Apply and the other writes send a request each, and change only the server.
// The cache learns of a write by its watch: to read what was written, wait by WaitFor. CreateOrPatch, Patch and PatchStatus wait
// for a moment by themselves.
type Objects[T object.Object] struct {
	*informer.Informer[T]
	*writer.Writer[T]

	// Resource lists, watches and gets the objects without the cache.
	Resource *listwatch.Resource[T]
}

// Options of [Open]: those of each of its parts. The zero value is ready. To apply objects, set Writer.FieldManager.
type Options[T object.Object] struct {
	// ListWatch says which objects the cache has, and how they are decoded. A write is not limited to these objects.
	ListWatch listwatch.Options[T]

	// Informer configures the cache.
	Informer informer.Options[T]

	// Writer configures the writes.
	Writer writer.Options
}

// Open makes the cache and the writer of a type by [listwatch.New], [informer.New] and [writer.New], and returns the first of
// their errors: T cannot hold the objects, an option is wrong, or typ has no Kind. It sends no request. If only one of the parts is
// needed, or something must come between them, call those functions instead.
//
//	shops, err := relist.Open(client, shopType, relist.Options[*Shop]{})
//	err = shops.Run(ctx)
func Open[T object.Object](client *transport.Client, typ object.Type, opts Options[T]) (*Objects[T], error) {
	resource, err := listwatch.New(client, typ.GroupVersionResource(), opts.ListWatch)
	if err != nil {
		return nil, err
	}
	writes, err := writer.New[T](client, typ, opts.Writer)
	if err != nil {
		return nil, err
	}
	return &Objects[T]{Informer: informer.New(resource, opts.Informer), Writer: writes, Resource: resource}, nil
}

// ErrNotOwned is the error of [Objects.CreateOrPatch] if the object is controlled by another owner, or by none.
var ErrNotOwned = errors.New("controlled by another owner, or by none")

// CreateOrPatch sees to it that there is an object with this name, and that it has what change writes to it.
//
// If the cache has no such object, CreateOrPatch creates one with this metadata, after change. If the cache has one,
// CreateOrPatch sends what change writes to a copy of it as a merge patch, if that is any different; see [writer.Writer.Patch].
// change should set each field that this program decides on, and no other: it is called with a new object or with one that others
// have also written to. The maps of a new object may be nil. The labels and annotations of meta are only for a new object.
//
// The cache should have every object that CreateOrPatch is called for, so no selector that such an object may cease to match.
// Otherwise CreateOrPatch would try to create the object again, and get apierrors.IsAlreadyExists, for ever.
//
// If meta has a reference to a controlling owner, as the metadata of [controller.OwnedMeta] does, an object that this owner does not
// control is left alone, and the error is [ErrNotOwned]. The UID of the owner counts.
//
// The cache may be behind. Then apierrors.IsAlreadyExists, IsConflict or IsNotFound is true for the error, and nothing is changed.
// In a controller, return the error: the key comes back after a pause, or as soon as the cache has the change. After a write,
// CreateOrPatch waits until the cache has it, for a second at most, so that the next call for this object begins with that state.
//
// The answer is the object as the server has it; if no request was necessary, the cache's own object, which must not be changed.
//
// [controller.OwnedMeta]: https://pkg.go.dev/github.com/relist-go/relist/controller#OwnedMeta
func (o *Objects[T]) CreateOrPatch(ctx context.Context, meta metav1.ObjectMeta, change func(obj T)) (T, error) {
	what, _ := o.Resource.Scope()
	key, err := object.KeyOf(&meta)
	if err != nil {
		return *new(T), fmt.Errorf("create or patch %s: %w", what, err)
	}
	have, exists := o.Store().Get(key)
	if !exists {
		made, err := o.CreateFrom(ctx, meta, change)
		if err == nil {
			o.await(ctx, made, "", false)
		}
		return made, err
	}
	if err := ownedBy(have, metav1.GetControllerOf(&meta)); err != nil {
		return *new(T), fmt.Errorf("%s %s %w", what, key, err)
	}
	return o.Patch(ctx, have, change)
}

// Patch is [writer.Writer.Patch]. Then it waits until the cache has the new state, for a second at most.
func (o *Objects[T]) Patch(ctx context.Context, have T, change func(obj T)) (T, error) {
	cached := o.caches(have)
	written, err := o.Writer.Patch(ctx, have, change)
	if err == nil {
		o.await(ctx, written, have.GetResourceVersion(), cached)
	}
	return written, err
}

// PatchStatus is [writer.Writer.PatchStatus]. Then it waits until the cache has the new state, for a second at most.
func (o *Objects[T]) PatchStatus(ctx context.Context, have T, change func(obj T)) (T, error) {
	cached := o.caches(have)
	written, err := o.Writer.PatchStatus(ctx, have, change)
	if err == nil {
		o.await(ctx, written, have.GetResourceVersion(), cached)
	}
	return written, err
}

// awaitWithin is how long a write waits for the cache. The event of a write comes within milliseconds. If it does not, the cache
// is behind for a reason of its own, and then the server refuses a write from the old state.
const awaitWithin = time.Second

// caches reports whether the cache has an object of this name.
func (o *Objects[T]) caches(obj T) bool {
	key, err := object.KeyOf(obj)
	if err != nil {
		return false // a write of it has the same error
	}
	_, exists := o.Store().Get(key)
	return exists
}

// await waits until the cache has an object as it was written, or newer. If versions cannot be ordered, it waits until the cache
// has another state of the object than the one before the write. If the cache had the object before the write and has lost it since,
// because it was deleted or a selector no longer matches it, await does not wait for more.
func (o *Objects[T]) await(ctx context.Context, written T, before string, cached bool) {
	if written.GetResourceVersion() == before {
		return // nothing was written, or it was the end of the object
	}
	ctx, cancel := context.WithTimeout(ctx, awaitWithin)
	defer cancel()
	_ = o.WaitUntil(ctx, object.Key(written), func(now T, exists bool) bool { // the write was made, whatever comes of this
		if !exists {
			return cached
		}
		version := now.GetResourceVersion()
		return version != before && !object.Older(version, written.GetResourceVersion())
	})
}

// ownedBy returns an error unless an object is controlled by an owner, if there is one.
func ownedBy(obj any, owner *metav1.OwnerReference) error {
	if owner == nil {
		return nil
	}
	owned, ok := obj.(interface {
		GetOwnerReferences() []metav1.OwnerReference
	})
	if !ok {
		return fmt.Errorf("is a %T, which does not say who owns it: embed metav1.ObjectMeta, or write a method GetOwnerReferences", obj)
	}
	for _, ref := range owned.GetOwnerReferences() {
		if ref.Controller != nil && *ref.Controller && ref.UID == owner.UID {
			return nil
		}
	}
	return fmt.Errorf("does not belong to %s %s: it is %w", owner.Kind, owner.Name, ErrNotOwned)
}
