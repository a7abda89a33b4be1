package relist

import (
	"context"
	"errors"
	"fmt"

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
// each, and change only the server. The cache learns of a write by its watch. A controller waits
// for that before it works on the key again; any other program that wants to read what it has
// written waits by WaitForVersion.
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
// them, call those functions instead.
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
// backoff, or as soon as the cache has the change.
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
		return o.CreateFrom(ctx, meta, change)
	}
	if err := ownedBy(have, metav1.GetControllerOf(&meta)); err != nil {
		return *new(T), fmt.Errorf("%s %s %w", what, key, err)
	}
	return o.Modify(ctx, have, change)
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
