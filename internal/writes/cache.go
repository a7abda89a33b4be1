package writes

import (
	"context"

	"github.com/relist-go/relist/object"
)

// Sight says whether a cache has the object of a write.
type Sight int

// The sights.
const (
	Elsewhere Sight = iota // it is of another server, resource or namespace
	Hidden                 // a label selector excludes it
	Unsure                 // that depends on what the answer to the write does not say
	Shown
)

// Cache is a cache, or one namespace of it, that has versions of its own.
type Cache interface {
	Name() string
	Sees(w Write) Sight

	// Version returns a version: the store has every change up to it. Before the first list, it is
	// empty.
	Version() string
	Get(key string) (meta object.Meta, exists bool)

	// WaitForVersion waits until the store has everything up to a version.
	WaitForVersion(ctx context.Context, version string) error

	// WaitUntil waits until holds returns true, which it calls again when the object of key has
	// changed.
	WaitUntil(ctx context.Context, key string, holds func() bool) error

	// Ask asks the server which object the cache would have under a key now, and for its version,
	// which is all that it is asked for if the key is empty.
	Ask(ctx context.Context, key string) (version string, meta object.Meta, exists bool, err error)

	// Relist waits until the store has a list that begins after the call.
	Relist(ctx context.Context) error

	// Failing returns why the cache gets nothing from the server; nil if it does.
	Failing() error
}
