package relist

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/controller/writer"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// Resource are the objects of one type: a live cache of them, and what writes them. Package
// controller takes a Resource where it takes an informer. [New] makes them.
//
// Run keeps the cache live, and Store reads it. Create, Apply and the other writes send a request
// each, and change only the server. The cache learns of a write by its watch: to read what was
// written, wait by WaitForVersion. CreateOrModify, Modify and ModifyStatus wait for a moment by
// themselves, and return [ErrUnconfirmed] if that is in vain.
type Resource[T object.Object] struct {
	*informer.Informer[T]
	*writer.Writer[T]

	// Client lists, watches and gets the objects without the cache.
	Client *listwatch.Client[T]
}

// Options of [New]: those of each of its parts. The zero value is ready. To apply objects, set
// Writer.FieldManager.
type Options[T object.Object] struct {
	// ListWatch says which objects the cache has, and how they are decoded. A write is not limited
	// to these objects.
	ListWatch listwatch.Options[T]

	// Informer configures the cache.
	Informer informer.Options[T]

	// Writer configures the writes.
	Writer writer.Options
}

// New makes the cache and the writer of a type by [listwatch.New], [informer.New] and [writer.New],
// and returns the first of their errors: T cannot hold the objects, an option is wrong, or typ has
// no Kind. It sends no request. If only one of the parts is needed, or something must come between
// them, call those functions instead. If a Transform clears resourceVersions, the cache cannot tell
// when it has a write: CreateOrModify, Modify and ModifyStatus then return [ErrUnconfirmed] after
// each write.
//
//	shops, err := relist.New(client, shopType, relist.Options[*Shop]{})
//	err = shops.Run(ctx)
func New[T object.Object](client *transport.Client, typ object.Type, opts Options[T]) (*Resource[T], error) {
	objects, err := listwatch.New(client, typ.GroupVersionResource(), opts.ListWatch)
	if err != nil {
		return nil, err
	}
	writes, err := writer.New[T](client, typ, opts.Writer)
	if err != nil {
		return nil, err
	}
	return &Resource[T]{Informer: informer.New(objects, opts.Informer), Writer: writes, Client: objects}, nil
}

// ErrUnconfirmed is in the error of [Resource.CreateOrModify], [Resource.Modify] and
// [Resource.ModifyStatus] if the server has made the write, and the cache did not have it within a
// second. The object that they return is as the server has it.
//
// A controller returns this error, so that it looks at the key again. Otherwise a created object
// that another client deletes before the cache has it would never be created again: the cache lacks
// it before and after, so there is no change that brings the key back.
var ErrUnconfirmed = errors.New("was written, but is not in the cache")

// ErrNotOwned is the error of [Resource.CreateOrModify] if the object is controlled by another
// owner, or by none.
var ErrNotOwned = errors.New("controlled by another owner, or by none")

// CreateOrModify sees to it that there is an object with this name, and that it has what change
// writes to it.
//
// If the cache has no such object, CreateOrModify creates one with this metadata, after change. If
// the cache has one, CreateOrModify sends what change writes to a copy of it as a merge patch, if
// that is any different; see [writer.Writer.Modify]. change should set each field that this program
// decides on, and no other: it is called with a new object or with one that others have also
// written to. The maps of a new object may be nil. The labels and annotations of meta are only for
// a new object.
//
// The cache should have every object that CreateOrModify is called for, so no selector that such an
// object may cease to match. Otherwise CreateOrModify would try to create the object again, and get
// apierrors.IsAlreadyExists each time.
//
// If meta has a reference to a controlling owner, as the metadata of [controller.OwnedMeta] does,
// an object that this owner does not control is left alone, and the error is [ErrNotOwned]. The UID
// of the owner counts.
//
// The cache may be behind. Then apierrors.IsAlreadyExists, IsConflict or IsNotFound is true for the
// error, and nothing is changed. In a controller, return the error: the key comes back after a
// backoff, or as soon as the cache has the change. After a write, CreateOrModify waits until the
// cache has it, so that the next call for this object starts with that state. After a second it
// returns [ErrUnconfirmed] with the object.
//
// The answer is the object as the server has it; if no request was necessary, the cache's own
// object, which must not be changed.
//
// [controller.OwnedMeta]: https://pkg.go.dev/github.com/relist-go/relist/controller#OwnedMeta
func (o *Resource[T]) CreateOrModify(ctx context.Context, meta metav1.ObjectMeta, change func(obj T)) (T, error) {
	what, _ := o.Client.Scope()
	key, err := object.KeyOf(&meta)
	if err != nil {
		return *new(T), fmt.Errorf("create or modify %s: %w", what, err)
	}
	have, exists := o.Store().Get(key)
	if !exists {
		made, err := o.CreateFrom(ctx, meta, change)
		if err == nil {
			err = o.await(ctx, made, "", false)
		}
		return made, err
	}
	if err := ownedBy(have, metav1.GetControllerOf(&meta)); err != nil {
		return *new(T), fmt.Errorf("%s %s %w", what, key, err)
	}
	return o.Modify(ctx, have, change)
}

// Modify is [writer.Writer.Modify]. Then it waits until the cache has the new state. After a second
// it returns [ErrUnconfirmed] with the object.
func (o *Resource[T]) Modify(ctx context.Context, have T, change func(obj T)) (T, error) {
	cached := o.caches(have)
	written, err := o.Writer.Modify(ctx, have, change)
	if err == nil {
		err = o.await(ctx, written, have.GetResourceVersion(), cached)
	}
	return written, err
}

// ModifyStatus is [writer.Writer.ModifyStatus]. Then it waits as Modify does.
func (o *Resource[T]) ModifyStatus(ctx context.Context, have T, change func(obj T)) (T, error) {
	cached := o.caches(have)
	written, err := o.Writer.ModifyStatus(ctx, have, change)
	if err == nil {
		err = o.await(ctx, written, have.GetResourceVersion(), cached)
	}
	return written, err
}

// awaitWithin is how long a write waits for the cache. The event of a write comes within
// milliseconds. If it does not, the cache is behind, for example because the watch is down.
const awaitWithin = time.Second

// caches reports whether the cache has an object of this name.
func (o *Resource[T]) caches(obj T) bool {
	key, err := object.KeyOf(obj)
	if err != nil {
		return false // a write of it has the same error
	}
	_, exists := o.Store().Get(key)
	return exists
}

// await waits until the cache has an object as it was written, or newer. If versions cannot be
// ordered, it waits until the cache has another state of the object than the one before the write.
// If the cache had the object before the write and has lost it since, because it was deleted or a
// selector no longer matches it, await does not wait for more.
func (o *Resource[T]) await(ctx context.Context, written T, before string, cached bool) error {
	if written.GetResourceVersion() == before {
		return nil // nothing was written, or it was the end of the object
	}
	ctx, cancel := context.WithTimeout(ctx, awaitWithin)
	defer cancel()
	key := object.Key(written)
	err := o.WaitUntil(ctx, key, func(now T, exists bool) bool {
		if !exists {
			return cached
		}
		version := now.GetResourceVersion()
		return version != before && !object.Older(version, written.GetResourceVersion())
	})
	if err != nil {
		what, _ := o.Client.Scope()
		return fmt.Errorf("%s %s %w: %w", what, key, ErrUnconfirmed, err)
	}
	return nil
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
