package cases

import (
	"context"
	"fmt"
	"strings"

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
	// Objects is the number of objects of the server, and Events the number of changes. The fields with Smoke are the
	// same for a run that only shows that everything works.
	Objects, Events           int
	SmokeObjects, SmokeEvents int
	// Alike says that the Pods differ only where they must, as the Pods of one large workload do.
	Alike bool
	// Alone says that only relist runs the case.
	Alone bool
	// HTTP2 says that requests use HTTP/2 over TLS, and share connections.
	HTTP2 bool
	// APIServer says that the server is a real kube-apiserver, which has the Pods. Such cases have one table together.
	APIServer bool
	// Database says that the programs copy the objects into a database: see [MainOfCopier].
	Database Database

	run func(context.Context, *env) error
}

// All returns the cases, in the order of the report.
func All() []Case {
	list := Case{Objects: 20_000, SmokeObjects: 100, run: list}
	watch := Case{Objects: 2_000, Events: 6_000, SmokeObjects: 50, SmokeEvents: 200, run: steadyWatch}
	relist := Case{Objects: 20_000, SmokeObjects: 100}
	copying := Case{Objects: 20_000, SmokeObjects: 100, Database: SQLite}
	return []Case{
		list.with("list-json", "First list, JSON", Spec{}),
		list.with("list-protobuf", "First list, protobuf", Spec{Encoding: objects.Protobuf}),
		list.with("list-unstructured", "First list, JSON, Unstructured", Spec{Object: Unstructured}),
		list.with("list-slim", "First list, JSON, six fields of each Pod", Spec{Object: Slim}),
		list.with("list-dropped", "First list, JSON, without managedFields", Spec{Object: Dropped}),
		list.with("list-metadata", "First list, protobuf, metadata alone", Spec{Object: MetadataOnly, Encoding: objects.Protobuf}),
		list.with("initial-json", "Initial events of a watch, JSON", Spec{Initial: ByWatch}),
		list.with("initial-protobuf", "Initial events of a watch, protobuf", Spec{Initial: ByWatch, Encoding: objects.Protobuf}),
		list.with("list-cbor", "First list, CBOR", Spec{Encoding: objects.CBOR}).alone(),
		list.with("initial-cbor", "Initial events of a watch, CBOR", Spec{Initial: ByWatch, Encoding: objects.CBOR}).alone(),
		list.with("default", "First state as each asks for it by default, JSON", Spec{Initial: ByDefault}),
		list.with("list-json-alike", "First list, JSON", Spec{}).alike(),
		list.with("list-protobuf-alike", "First list, protobuf", Spec{Encoding: objects.Protobuf}).alike(),
		list.with("list-unstructured-alike", "First list, JSON, Unstructured", Spec{Object: Unstructured}).alike(),
		relist.relisting(0),
		relist.relisting(1),
		relist.relisting(100),
		watch.with("watch-json", "Steady watch, Pods, JSON", Spec{}),
		watch.with("watch-protobuf", "Steady watch, Pods, protobuf", Spec{Encoding: objects.Protobuf}).events(60_000),
		watch.with("watch-unstructured", "Steady watch, Pods, JSON, Unstructured", Spec{Object: Unstructured}),
		watch.with("watch-json-alike", "Steady watch, Pods, JSON", Spec{}).alike(),
		watch.with("watch-protobuf-alike", "Steady watch, Pods, protobuf", Spec{Encoding: objects.Protobuf}).events(60_000).alike(),
		watch.with("watch-small-json", "Steady watch, ConfigMaps, JSON", Spec{Resource: "configmaps"}).events(60_000),
		watch.with("watch-small-protobuf", "Steady watch, ConfigMaps, protobuf", Spec{Resource: "configmaps", Encoding: objects.Protobuf}).events(120_000),
		{
			Name: "many-idle", Title: "1,000 informers that have nothing to do, one process", Spec: Spec{Resource: "configmaps"},
			Objects: 1000, SmokeObjects: 20, HTTP2: true, run: manyIdle,
		},
		{
			Name: "many-types", Title: "500 informers of 500 resources with 10 objects each, metadata alone, one process",
			Spec: Spec{Resource: "configmaps", Object: MetadataOnly}, Objects: 500, SmokeObjects: 20, HTTP2: true, run: manyTypes,
		},
		{
			Name: "many-churn", Title: "1,000 informers of 10 ConfigMaps each, one process", Spec: Spec{Resource: "configmaps"},
			Objects: 1000, Events: 60_000, SmokeObjects: 20, SmokeEvents: 400, HTTP2: true, run: manyChurn,
		},
		{
			Name: "slow", Title: "A handler that hangs while others do not, Pods, JSON", Spec: Spec{Resource: "pods"},
			Objects: 100, Events: 6_000, SmokeObjects: 20, SmokeEvents: 200, run: slowConsumer,
		},
		{
			Name: "handlers", Title: "Ten handlers, and one takes a second for each callback, Pods, JSON", Spec: Spec{Resource: "pods"},
			Objects: 1000, Events: 50_000, SmokeObjects: 20, SmokeEvents: 200, run: tenHandlers,
		},
		{
			Name: "lag", Title: "From the change to the handler, 1,000 events/s, Pods, JSON", Spec: Spec{Resource: "pods"},
			Objects: 1000, Events: 4_000, SmokeObjects: 200, SmokeEvents: 200, run: lag,
		},
		copying.copying("copy-first", "First copy in SQLite, JSON", firstCopy),
		copying.copying("copy-default", "First copy in SQLite, relist from JSON, client-go from protobuf as it asks for by default", firstCopy).protobuf(),
		copying.copying("copy-watch", "1,000 changes/s copied to SQLite, JSON", steadyCopy).changes(10_000, 200),
		copying.copying("copy-restart", "Restart with a whole copy in SQLite, nothing changed, JSON", restart),
		copying.copying("copy-relist", "List again after 410 with a copy in SQLite, nothing changed, JSON", relistCopy),
		copying.copying("copy-postgres-first", "First copy in PostgreSQL, JSON", firstCopy).inPostgres(),
		copying.copying("copy-postgres-watch", "1,000 changes/s copied to PostgreSQL, JSON", steadyCopy).changes(10_000, 200).inPostgres(),
		copying.copying("copy-postgres-relist", "List again after 410 with a copy in PostgreSQL, nothing changed, JSON", relistCopy).inPostgres(),
		copying.copying("copy-apiserver-sqlite", "SQLite", firstCopy).protobuf().real(),
		copying.copying("copy-apiserver-sqlite-typed", "SQLite", firstCopy).protobuf().real().typed(),
		copying.copying("copy-apiserver-postgres", "PostgreSQL", firstCopy).protobuf().real().inPostgres(),
		copying.copying("copy-apiserver-postgres-typed", "PostgreSQL", firstCopy).protobuf().real().typed().inPostgres(),
	}
}

func (c Case) with(name, title string, spec Spec) Case {
	if spec.Resource == "" {
		spec.Resource = "pods"
	}
	c.Name, c.Title, c.Spec = name, title, spec
	return c
}

func (c Case) alone() Case { c.Alone = true; return c }

func (c Case) alike() Case {
	c.Alike, c.Title = true, c.Title+", alike Pods"
	return c
}

func (c Case) changes(n, smoke int) Case { c.Events, c.SmokeEvents = n, smoke; return c }

func (c Case) copying(name, title string, run func(context.Context, *env) error) Case {
	c.run = run
	return c.with(name, title, Spec{Object: Raw})
}

func (c Case) real() Case { c.APIServer = true; return c }

func (c Case) typed() Case { c.Spec.Object = Dropped; return c }

func (c Case) inPostgres() Case { c.Database = Postgres; return c }

func (c Case) protobuf() Case { c.Spec.Encoding = objects.Protobuf; return c }

func (c Case) events(n int) Case { c.Events = n; return c }

func (c Case) relisting(percent int) Case {
	c.run = func(ctx context.Context, e *env) error { return relistAgain(ctx, e, percent) }
	return c.with(fmt.Sprintf("relist-%d", percent), fmt.Sprintf("List again after 410, %d %% changed, JSON", percent), Spec{})
}

// ServerObjects returns the numbers of objects that the load server needs for n objects, or for n informers.
func (c Case) ServerObjects(n int) (pods, configMaps int) {
	switch {
	case c.Spec.Resource != "configmaps":
		return n, objects.PerNamespace
	case strings.HasPrefix(c.Name, "many"):
		return 1, n * objects.PerNamespace
	default:
		return 1, n
	}
}

// env has what a case needs to run.
type env struct {
	client  Client // nil if the case has a Database
	copier  Copier // nil if it has none
	ledger  *Ledger
	access  Access
	spec    Spec
	objects int
	events  int
	result  *measure.Result
}
