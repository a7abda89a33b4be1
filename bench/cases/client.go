package cases

import (
	"context"

	"github.com/relist-go/relist/bench/objects"
)

// Object is the Go type in which a program holds its objects.
type Object uint8

// The types. Slim is six fields of a Pod, and Dropped a Pod without managedFields: client-go
// decodes all and strips it in a transform, relist decodes no more than what is wanted.
const (
	Typed Object = iota
	Dropped
	Slim
	Unstructured
	MetadataOnly
)

// Initial says how an informer gets its first state.
type Initial uint8

// The ways. With ByDefault, each client uses its own default.
const (
	ByList Initial = iota
	ByWatch
	ByDefault
)

// Spec says what an informer follows, and how.
type Spec struct {
	Resource  string // pods or configmaps
	Namespace string // empty is all
	Object    Object
	Encoding  objects.Format
	Initial   Initial
	// ShareParts is relist's option of that name.
	ShareParts bool
}

// A Handler is called with each object that is added or updated. The argument is a pointer to an object of the type
// that Spec.Object names.
type Handler func(object any, added bool)

// A Client is relist or client-go, connected to the load server.
type Client interface {
	// Start starts an informer, which ends with ctx.
	Start(ctx context.Context, spec Spec, handlers ...Handler) (Informer, error)
}

// An Informer is what a Client has started.
type Informer interface {
	// Len is the number of objects in the store.
	Len() int
	// Version is the resourceVersion up to which the informer was told of everything; its store may be a little behind.
	Version() string
}

// Access says where the load server is, and how to speak to it.
type Access struct {
	URL string
	// HTTP2 is over TLS, with any certificate. Else it is HTTP/1.1.
	HTTP2 bool
	// WebSocket is for watches.
	WebSocket bool
	// Gzip asks for lists that are compressed. client-go does so always.
	Gzip bool
}
