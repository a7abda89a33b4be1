// Package postgres keeps copies of Kubernetes resources in a PostgreSQL database, where other
// programs query them. A [Copy] is a [durable.Copy]: a [durable.Mirror] writes to it.
//
//	db, err := postgres.Open(ctx, url, postgres.Options{})
//	pods, err := postgres.New(db, durable.Table{
//		Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"},
//		Columns:  []string{"node=.spec.nodeName", "phase=.status.phase"},
//	}, (*listwatch.Raw).MarshalJSON)
//
// # Tables
//
// A row is made of the cluster, the object's key, UID and version, and of its JSON; the database
// computes the other columns, and those of [durable.Table].Columns have an index. durable/README.md
// has the columns of all tables, what a reader may rely on, and queries.
//
//	SELECT node, count(*) FROM relist.pods WHERE phase = 'Running' GROUP BY node;
//	SELECT version, current_at FROM relist.relist_state WHERE table_name = 'pods';
//
// Programs need no lock to read, and may add indexes, views and rights. They must not write rows.
// All tables are in one schema, whose layout later versions of this package bring up to date.
//
// With [durable.Table].History there is a second table, such as pods_history, which has each state
// of each object, the present one included. The table relist_gaps says what the history does not
// know.
//
// # What cannot be stored
//
// jsonb does not take every JSON. [Check] says what it refuses; call it in
// listwatch.Options.Transform. jsonb keeps the content of an object and not its bytes: the order of
// members is another, and of two members of one name the last one stays.
//
// # Servers
//
// PostgreSQL 14 or newer is needed, with a database in UTF8. A Copy has a session of its own, with
// settings: a pooler must not share it with others. Of several programs that write the same copy,
// the one that has opened it last continues, and the others get [durable.ErrFenced]; [DB.Lead] lets
// them wait for their turn instead.
//
// A commit does not wait until the database has written it to the disk (synchronous_commit=off),
// because rows and version go back together if that fails, and the reflector reads the difference
// again. A synchronous_commit in the URL applies.
package postgres
