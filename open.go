package relist

import (
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
// The cache learns of a write by its watch: to read what was written, wait by WaitFor.
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
