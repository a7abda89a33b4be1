package trace

import (
	"context"
	"net"
	"time"
)

// Program makes the client that a trace is run against, and does not start it.
type Program func(Env) (Client, error)

// Env is what a Program gets from a run.
type Env struct {
	// Server is the base URL of the API server. Path is the path of the collection
	// that the trace is about, and Kind is the kind of its objects.
	Server string
	Path   string
	Kind   string

	// Dial makes every connection of the client, in memory. The client must not
	// dial in another way.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// Options are those of the start line.
	Options Options

	// Rand returns a number in [0, 1), for everything that the client draws: 0, unless the start
	// line names others.
	Rand func() float64

	// Saved is what an earlier client of the same Program has saved, see [Client]. It is nil if the
	// client is to begin with nothing.
	Saved any

	// Problem writes a "!" line for a problem that the client would report to its
	// user. class is one word, and key is the key of the object, or "". err says
	// what is wrong; a trace does not have it, and a recording has it in a comment. Any
	// goroutine may call Problem.
	Problem func(class, key string, err error)

	// Say writes a "=" line for something that the program did: a callback, or an effect of one.
	// The lines of one goroutine stay in order, and stand below the requests of their instant.
	// Those of several goroutines in one instant, as of two handlers, come in any order: a trace is
	// for the lines of one. A newline in line becomes a space. line is not empty. Any goroutine may
	// call Say.
	Say func(line string)
}

// Options are the options on a trace's start line. If a Program does not
// support one that is set, it returns an error.
type Options struct {
	// LabelSelector and FieldSelector limit the objects, in the API's syntax.
	LabelSelector string
	FieldSelector string

	// ShardSelector limits the objects to a range of hashes.
	ShardSelector string

	// Drop is the path of a member that the client leaves out of every object. If empty, none is.
	Drop string

	// Limit is the page size of lists. If zero, the client's default is used.
	Limit int

	// Resync is the period after which the client queues every object again. If
	// zero, it never does.
	Resync time.Duration

	// Verify is the period after which the client compares its objects with the
	// server's. If zero, it never does.
	Verify time.Duration

	// WatchList asks for initial events by watch instead of a list.
	WatchList bool

	// Encoding is the format to ask for, protobuf, with JSON as the second choice. If empty, JSON
	// alone is asked for.
	Encoding string

	// Transport is how requests travel: http2, without TLS; or websocket, for watches. If empty,
	// HTTP/1.1.
	Transport string

	// Gzip says that answers may come compressed, those to watches too.
	Gzip bool

	// Coalesce asks the queue to keep only the last state of an object that waits.
	Coalesce bool
}

// Client is a program under test. The run calls Run in a goroutine, and
// meanwhile calls the other methods from one other goroutine.
//
// The actions of a Client must depend only on what it receives and on the
// clock: its random numbers are those of Rand, and it takes no order from a map.
//
// The command "restart saved" needs a Client with a method Saved() any. It returns what the client
// would have written to a disk until now: its objects, and where to continue. It becomes the Saved
// of an [Env]. The run calls it when Run has returned.
type Client interface {
	// Run talks to the server until ctx ends. After it has returned, the command
	// restart calls it again.
	Run(ctx context.Context) error

	// Pop takes the oldest entry out of the client's queue, without waiting: the
	// key and then each delta, as in
	//
	//	default/a Updated@102 Deleted@103 (final state unknown)
	//
	// The second result is false if the queue is empty.
	Pop() (entry string, ok bool)

	// Synced reports whether all entries of the first list have been popped.
	Synced() bool

	// Store returns the objects that the client holds, in key order, such as
	// default/a@102.
	Store() []string

	// Close releases resources that outlive Run, such as idle connections.
	Close()
}

// ProgramOf returns the Program of a whole program that is to be tested. run is called as the
// program is in production, except that it reaches its API server by env, that env.Rand is the
// [reflector.Options.Rand] of its reflector, and that it tells env.Say what it does:
//
//	trace.Run(t, os.DirFS("testdata"), trace.ProgramOf(func(ctx context.Context, env trace.Env) error {
//		return run(ctx, transport.Config{Server: env.Server, Dial: env.Dial}, env.Say)
//	}))
//
// run returns when ctx has ended, with every connection closed and no goroutine left. The command
// restart calls it again. The commands pop and store find nothing, because only the program knows
// what it has. So a trace of relist record, which has pop for another client, runs unchanged.
func ProgramOf(run func(ctx context.Context, env Env) error) Program {
	return func(env Env) (Client, error) { return whole{run, env}, nil }
}

// whole is a program that takes what it gets by itself.
type whole struct {
	run func(context.Context, Env) error
	env Env
}

func (w whole) Run(ctx context.Context) error { return w.run(ctx, w.env) }

func (whole) Pop() (entry string, ok bool) { return "", false }

func (whole) Synced() bool { return false }

func (whole) Store() []string { return nil }

func (whole) Close() {}
