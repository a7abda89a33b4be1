package cases

import (
	"context"

	"github.com/relist-go/relist/test/bench/objects"
)

// Object is the Go type in which a program holds its objects.
type Object uint8

// The types. Slim has six fields of a Pod. relist decodes only these; client-go decodes all fields,
// and removes the others in a transform. Lazy and Unchecked are whole Pods that relist keeps as
// bytes, without managedFields and with two fields decoded; Lazy decodes each Pod once when it
// comes, to see that it can. Packed is Unchecked with compressed bytes. client-go has whole Pods
// there.
const (
	Typed Object = iota
	Slim
	Unstructured
	Lazy
	Unchecked
	Packed
)

// Initial says how an informer gets its first state.
type Initial uint8

// The values of Initial. With ByDefault, each client uses its own default.
const (
	ByList Initial = iota
	ByWatch
	ByDefault
)

// Spec says how an informer gets Pods.
type Spec struct {
	Namespace string // if empty, all namespaces
	Node      string // if not empty, the one whose Pods are wanted
	Object    Object
	Encoding  objects.Format
	Initial   Initial
	Handlers  int  // of a steady watch; 0 is one
	ByNode    bool // whether there is an index, of whole Pods
	// ShareParts is for the option of relist that has this name.
	ShareParts bool
}

// A Handler is called with each object that is added or updated. The argument is a pointer to an
// object of the type that Spec.Object names.
type Handler func(object any, added bool)

// A Client is relist or client-go, connected to the load server.
type Client interface {
	// Start starts an informer, which ends with ctx.
	Start(ctx context.Context, spec Spec, handlers ...Handler) (Informer, error)
}

// An Informer is what a Client has started.
type Informer interface {
	// Version is a resourceVersion: the informer has received everything up to it. The store of the
	// informer may be a little behind that version.
	Version() string
	// Keys, Has, List and ByNode read the store: its keys, one object, all, or those of a node.
	Keys() []string
	Has(key string) bool
	List() int
	ByNode(node string) int
}

// Access says where the load server is, and how to connect to it.
type Access struct {
	URL string
	// HTTP2 asks for HTTP/2 over TLS, with any certificate. Otherwise the client uses HTTP/1.1.
	HTTP2 bool
	// Gzip asks for compressed lists. client-go always asks for them.
	Gzip bool
	// Database is the path of a file of SQLite.
	Database string
}
