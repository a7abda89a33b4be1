package cases

import (
	"context"

	"github.com/relist-go/relist/test/bench/measure"
	"github.com/relist-go/relist/test/bench/objects"
)

// A Case is one measurement.
type Case struct {
	Name string
	// Title is the heading of its table.
	Title string
	// Spec describes the informer, or each of several informers.
	Spec Spec
	// Objects is the number of Pods of the server, or of informers, and Events the number of
	// changes. The fields with Smoke are the same for a run that only shows that everything works.
	Objects, Events           int
	SmokeObjects, SmokeEvents int
	// Alone says that the case is part of a table of relist alone.
	Alone bool
	// HTTP2 says that requests use HTTP/2 over TLS, and share connections.
	HTTP2 bool
	// Busy says that other programs take all the time of the cores that they can get.
	Busy bool
	// Copied says that the program copies the objects into a file of SQLite: see [MainOfCopier].
	Copied bool

	run func(context.Context, *env) error
}

// All returns the cases, in the order of the report.
func All() []Case {
	reads := func(name, title string, read func(in Informer, key, node string) bool) Case {
		return Case{
			Name: name, Title: title, Spec: Spec{Encoding: objects.Protobuf}, Objects: 5_000, Events: 2_000, SmokeObjects: 100, SmokeEvents: 100,
			run: func(ctx context.Context, e *env) error { return storeReads(ctx, e, read) },
		}
	}
	lags := func(name, title string, objects int, each bool) Case {
		return Case{
			Name: name, Title: title, Objects: objects, Events: 2_000, SmokeObjects: 20, SmokeEvents: 200, HTTP2: true,
			run: func(ctx context.Context, e *env) error { return lag(ctx, e, each) },
		}
	}
	list := Case{Objects: 20_000, SmokeObjects: 100, run: list}
	watch := Case{Objects: 2_000, SmokeObjects: 50, SmokeEvents: 200, run: steadyWatch}
	return []Case{
		list.with("list-json", "First list, JSON", Spec{}),
		list.with("list-protobuf", "First list, protobuf", Spec{Encoding: objects.Protobuf}),
		list.with("list-unstructured", "First list, JSON, Unstructured", Spec{Object: Unstructured}),
		list.with("list-slim", "First list, JSON, six fields of each Pod", Spec{Object: Slim}),
		list.with("lazy-json", "First list, JSON, lazy", Spec{Object: Lazy}),
		list.with("lazy-json-unchecked", "First list, JSON, lazy and unchecked", Spec{Object: Unchecked}),
		list.with("lazy-json-packed", "First list, JSON, lazy, unchecked and compressed", Spec{Object: Packed}),
		list.with("lazy-protobuf", "First list, protobuf, lazy", Spec{Object: Lazy, Encoding: objects.Protobuf}),
		list.with("lazy-protobuf-unchecked", "First list, protobuf, lazy and unchecked", Spec{Object: Unchecked, Encoding: objects.Protobuf}),
		list.with("default", "First state as each asks for it by default, JSON", Spec{Initial: ByDefault}),
		list.with("initial-json", "Initial events of a watch, JSON", Spec{Initial: ByWatch}).alone(),
		list.with("initial-protobuf", "Initial events of a watch, protobuf", Spec{Initial: ByWatch, Encoding: objects.Protobuf}).alone(),
		list.with("list-json-busy", "First list, JSON, busy", Spec{}).busy(),
		list.with("list-protobuf-busy", "First list, protobuf, busy", Spec{Encoding: objects.Protobuf}).busy(),
		list.with("limit-list-json", "The least for a list, JSON", Spec{}).limit(),
		list.with("limit-list-protobuf", "The least for a list, protobuf", Spec{Encoding: objects.Protobuf}).limit(),
		watch.with("limit-watch-json", "The least for a watch, JSON", Spec{}).events(6_000).limit(),
		watch.with("limit-watch-protobuf", "The least for a watch, protobuf", Spec{Encoding: objects.Protobuf}).events(60_000).limit(),
		list.with("relist-0", "List again after 410, 0 % changed, JSON", Spec{}).again(0),
		list.with("relist-1", "List again after 410, 1 % changed, JSON", Spec{}).again(1),
		list.with("relist-100", "List again after 410, 100 % changed, JSON", Spec{}).again(100),
		list.with("relist-0-protobuf", "List again after 410, 0 % changed, protobuf", Spec{Encoding: objects.Protobuf}).again(0),
		watch.with("watch-json", "Steady watch, JSON", Spec{}).events(6_000),
		watch.with("watch-protobuf", "Steady watch, protobuf", Spec{Encoding: objects.Protobuf}).events(60_000),
		watch.with("watch-json-busy", "Steady watch, JSON, busy", Spec{}).events(3_000).busy(),
		watch.with("watch-protobuf-busy", "Steady watch, protobuf, busy", Spec{Encoding: objects.Protobuf}).events(20_000).busy(),
		watch.with("watch-lazy-json", "Steady watch, JSON, lazy and unchecked", Spec{Object: Unchecked}).events(6_000),
		watch.with("watch-lazy-protobuf", "Steady watch, protobuf, lazy and unchecked", Spec{Object: Unchecked, Encoding: objects.Protobuf}).events(60_000),
		watch.with("watch-handlers", "Steady watch, protobuf, 50 handlers", Spec{Encoding: objects.Protobuf, Handlers: 50}).events(30_000),
		lags("lag", "From the change to the handler, 500 events/s, one informer", 1_000, false),
		lags("lag-50", "From the change to the handler, 500 events/s, 50 informers", 50, true),
		lags("lag-500", "From the change to the handler, 500 events/s, 500 informers", 500, true),
		reads("store-get", "Get from a store, while 1,000 objects/s change", func(in Informer, key, _ string) bool { return in.Has(key) }),
		reads("store-list", "List a store of 5,000, while 1,000 objects/s change", func(in Informer, _, _ string) bool { return in.List() > 0 }),
		reads("store-index", "The 10 objects of an index's value, while 1,000 objects/s change", func(in Informer, _, node string) bool { return in.ByNode(node) > 0 }),
		{
			Name: "many-idle", Title: "1,000 informers that have nothing to do, one process",
			Objects: 1000, SmokeObjects: 20, HTTP2: true, run: manyIdle,
		},
		{
			Name: "copy-first", Title: "First copy in SQLite, JSON", Copied: true,
			Objects: 20_000, SmokeObjects: 100, run: firstCopy,
		},
		{
			Name: "copy-watch", Title: "1,000 changes/s copied to SQLite, JSON", Copied: true,
			Objects: 20_000, Events: 10_000, SmokeObjects: 100, SmokeEvents: 200, run: steadyCopy,
		},
	}
}

func (c Case) with(name, title string, spec Spec) Case {
	c.Name, c.Title, c.Spec = name, title, spec
	return c
}

func (c Case) busy() Case        { c.Busy = true; return c }
func (c Case) alone() Case       { c.Alone = true; return c }
func (c Case) limit() Case       { c.run = limit; return c.alone() }
func (c Case) events(n int) Case { c.Events = n; return c }

func (c Case) again(percent int) Case {
	c.run = func(ctx context.Context, e *env) error { return relistAgain(ctx, e, percent) }
	return c
}

// env has what a case needs to run.
type env struct {
	client  Client // nil if the case is Copied
	copier  Copier // nil if it is not
	ledger  *Ledger
	access  Access
	spec    Spec
	objects int
	events  int
	result  *measure.Result
}
