package trace

import (
	"context"
	"net"
	"time"
)

// Program makes the client that a trace is run against, and does not start it.
type Program func(Env) (Client, error)

// Env is what a run gives to a Program.
type Env struct {
	// Server is the base URL of the API server, and Path that of the collection
	// which the trace is about, whose objects are of that Kind.
	Server string
	Path   string
	Kind   string

	// Dial makes every connection. It needs no network, and must not be
	// replaced by one.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// Options are those of the start line.
	Options Options

	// Problem reports what the client would report to its user, as a "!" line:
	// a class, which is one word, and the key of the object concerned, if any.
	// It may be called from any goroutine.
	Problem func(class, key string)
}

// Options are what a trace can ask of a Program on its start line. A Program
// that cannot do what is asked returns an error.
type Options struct {
	// LabelSelector and FieldSelector limit the objects, in the API's syntax.
	LabelSelector string
	FieldSelector string

	// Limit is the page size of lists. If zero, it is the client's default.
	Limit int

	// Resync is the period after which every object is offered again. If zero,
	// never.
	Resync time.Duration

	// Verify is the period after which what is held is compared with the server.
	// If zero, never.
	Verify time.Duration

	// WatchList asks for initial events by watch instead of a list.
	WatchList bool

	// Protobuf asks for objects in protobuf, with JSON as the second choice.
	Protobuf bool

	// WebSocket asks for watches over WebSocket.
	WebSocket bool

	// Coalesce asks the queue to merge consecutive updates of one object.
	Coalesce bool
}

// Client is a program under test. Its methods are called from one goroutine,
// but for Run, beside which the others are called.
//
// What it does must depend on nothing but what it receives and the clock:
// jitter is off, and no order comes from a map.
type Client interface {
	// Run talks to the server until ctx ends. It is called again, after it has
	// returned, by the command restart.
	Run(ctx context.Context) error

	// Pop takes the oldest entry out of the client's queue, without waiting: the
	// key and then each delta, as in
	//
	//	default/a Updated@102 Deleted@103 (final state unknown)
	//
	// The second result is false when there is nothing.
	Pop() (entry string, ok bool)

	// Synced reports whether the first list has been popped to its end.
	Synced() bool

	// Store returns what the client holds, in key order: default/a@102.
	Store() []string

	// Close releases what outlives Run, such as idle connections.
	Close()
}
