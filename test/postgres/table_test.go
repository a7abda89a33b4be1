package check

import (
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/postgres"
	"github.com/relist-go/relist/internal/must"
)

func TestColumns(t *testing.T) {
	r := newRig(t)
	table := pods
	table.Columns = []string{"node=.spec.nodeName", `app=.metadata.labels["a.b/c"]`, "it_s=.it's[1]"}
	c := r.copy(r.open(), table)
	state := load(t, c)
	for i, change := range []struct{ key, object string }{
		{"shop/web", `{"metadata":{"creationTimestamp":"2024-02-29T23:59:59Z","labels":{"a.b/c":"x"}},"spec":{"nodeName":"n1"},"it's":[1,2.50]}`},
		{"node", `{"metadata":{"creationTimestamp":null,"labels":null},"spec":{"nodeName":7},"it's":{"1":true}}`},
		{"a/b", `{"metadata":{"creationTimestamp":"2023-02-31T00:00:00.5Z","labels":["x"]},"spec":[]}`},
		{"bad", `{"metadata":{"creationTimestamp":"2023-13-01T00:00:00Z"},"spec":{"nodeName":"` + strings.Repeat("é", 5000) + `"}}`},
		{"bad2", `{"metadata":{"creationTimestamp":"yesterday"}}`},
		{"bad3", `{"metadata":{"creationTimestamp":{"a":1}}}`},
		{"bad4", `{"metadata":{"creationTimestamp":"0000-01-01T00:00:00Z"}}`},
		{"none", `[]`},
		{"zone", `{"metadata":{"creationTimestamp":"2024-02-29T23:59:59+02:00"}}`},
	} {
		put := put(change.key, 1, i)
		put.Object = []byte(change.object)
		state = write(t, c, state, "1", put)
	}
	exec1(t, r.admin, `SET timezone = 'UTC'`)
	want := `a/b a b ["x"] 2023-03-03 00:00:00+00 - - -
bad  bad - - 1000 - -
bad2  bad2 - - - - -
bad3  bad3 - - - - -
bad4  bad4 - - - - -
node  node null - 1 - true
none  none - - - - -
shop/web shop web {"a.b/c": "x"} 2024-02-29 23:59:59+00 2 x 2.50
zone  zone - - - - -`
	rows := `SELECT key, namespace, name, coalesce(labels::text, '-'), coalesce(created::text, '-'), coalesce(octet_length(node)::text, '-'), coalesce(app, '-'), coalesce(it_s, '-')
		FROM ` + r.schema + `.pods ORDER BY key`
	is(t, "rows", query(t, r.admin, rows), want)
	indexes := `SELECT string_agg(regexp_replace(indexdef, '^.* USING ', ''), ', ' ORDER BY indexname) FROM pg_indexes WHERE schemaname = $1 AND tablename = 'pods'`
	is(t, "indexes", query(t, r.admin, indexes, r.schema), "btree (app), btree (it_s), btree (node), btree (cluster, key)")

	// Other columns, in another order: the database computes them, and the version stays.
	table.Columns = []string{"rest=.it's", "node=.metadata.creationTimestamp", `app=.metadata.labels["a.b/c"]`}
	other := r.copy(r.open(), table)
	if got := load(t, other); got.Point.Version != "1" {
		t.Errorf("with other columns, the version is %q", got.Point.Version)
	}
	is(t, "row", query(t, r.admin, `SELECT rest, node, app FROM `+r.schema+`.pods WHERE key = 'shop/web'`), "[1, 2.50] 2024-02-29T23:59:59Z x")
	is(t, "indexes", query(t, r.admin, indexes, r.schema), "btree (app), btree (node), btree (cluster, key), btree (rest)")
	write(t, other, load(t, other), "2", put("new", 1, 1, `"it's":5`))
	is(t, "row", query(t, r.admin, `SELECT rest FROM `+r.schema+`.pods WHERE key = 'new'`), "5")
}

// TestColumnsWhileSomebodyReads changes the columns while a transaction is open that reads as
// durable/README.md says.
func TestColumnsWhileSomebodyReads(t *testing.T) {
	r := newRig(t)
	table := pods
	table.Columns = []string{"node=.spec.nodeName", "old=.spec"}
	table.History = time.Hour
	c := r.copy(r.open(), table)
	state := write(t, c, load(t, c), "1", put("a", 1, 1, `"spec":{"nodeName":"n1"}`), put("b", 1, 1), put("c", 1, 1))
	reader, err := r.admin.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	must.OK(t, err)
	is(t, "the version", query(t, r.admin, `SELECT version FROM `+r.schema+`.relist_state`), "1")

	table.Columns = []string{"node=.spec.nodeName", "app=.app", "old=.metadata.uid"}
	other := r.copy(r.open(), table)
	write(t, other, load(t, other), "2", put("b", 1, 2, `"app":"x"`), gone(durable.Deleted, "c"))
	for _, name := range []string{"pods", "pods_history"} {
		is(t, "rows of "+name+" at version 1", query(t, r.admin, `SELECT key, resource_version, coalesce(node, '-') FROM `+r.schema+`.`+name+` ORDER BY key`),
			"a 1 n1\nb 1 -\nc 1 -")
	}
	must.OK(t, reader.Commit(t.Context()))
	is(t, "rows at version 2", query(t, r.admin, `SELECT key, coalesce(node, '-'), coalesce(app, '-'), old FROM `+r.schema+`.pods ORDER BY key`), "a n1 - u1\nb - x u1")

	// A program with other columns that goes on writes those that the table has now.
	write(t, c, at(state, "2"), "3", put("d", 1, 3, `"app":"y"`))
	is(t, "the row", query(t, r.admin, `SELECT app, old FROM `+r.schema+`.pods WHERE key = 'd'`), "y u1")
	none := r.copy(r.open(), pods)
	write(t, none, load(t, none), "4", put("d", 1, 4, `"app":"z"`))
	is(t, "functions that are left", query(t, r.admin, `SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1`, r.schema), "0")
}

// TestLongest has the longest names that Check and New accept, whose bytes do not compress well.
func TestLongest(t *testing.T) {
	r := newRig(t)
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-."[random.IntN(64)]
		}
		return string(b)
	}
	table := pods
	table.Cluster = noise(253)
	table.Columns = []string{"a=.a"}
	table.History = time.Hour
	c := r.copy(r.open(), table)
	namespace, name := noise(1000), noise(1000)
	change := put(namespace+"/"+name, 1, 1)
	change.Object = []byte(asJSON(t, map[string]any{"metadata": map[string]any{"name": name, "namespace": namespace}, "a": strings.Repeat("\U0001f642é", 1000)}))
	must.OK(t, postgres.Check(change.Object))
	write(t, c, load(t, c), "1", change)
	is(t, "lengths", query(t, r.admin, `SELECT octet_length(cluster), octet_length(key), length(a) FROM `+r.schema+`.pods`), "253 2001 500")
}

func TestClusters(t *testing.T) {
	r := newRig(t)
	db := r.open()
	east, west := pods, pods
	east.Cluster, west.Cluster = "east", "west"
	a, b := r.copy(db, east), r.copy(db, west)
	load(t, b)
	state := transact(t, a, load(t, a), opened(load(t, a)), false)
	state = write(t, a, state, "1", put("x", 1, 1), put("y", 1, 1))
	theirs := transact(t, b, load(t, b), opened(load(t, b)), false)
	write(t, b, theirs, "7", put("x", 2, 7), put("z", 2, 7))
	write(t, a, state, "2", gone(2, "z"), gone(2, "x"))
	is(t, "rows", query(t, r.admin, `SELECT cluster, key, uid FROM `+r.schema+`.pods ORDER BY 1, 2`), "east y u1\nwest x u2\nwest z u2")
	is(t, "versions", query(t, r.admin, `SELECT cluster, version FROM `+r.schema+`.relist_state ORDER BY 1`), "east 2\nwest 7")
	keys, err := b.Keys(t.Context(), "", 9)
	must.OK(t, err)
	equal(t, "Keys", keys, []string{"x", "z"})
	must.OK(t, db.Close())
	if _, err := b.Load(t.Context()); err == nil {
		t.Error("Load after Close: no error")
	}
	if _, err := postgres.New(db, pods, asIs); err == nil {
		t.Error("New after Close: no error")
	}
}

// fails asserts that an error has all the parts.
func fails(t *testing.T, what string, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", what)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v\nwant in it: %s", what, err, part)
		}
	}
}

func TestNotOurs(t *testing.T) {
	r := newRig(t)
	db := r.open()
	exec1(t, r.admin, `CREATE TABLE `+r.schema+`.pods (precious text)`)
	_, err := r.copy(db, pods).Load(t.Context())
	fails(t, "a table of somebody else", err, "there is a table pods which relist has not made")
	exec1(t, r.admin, `ALTER TABLE `+r.schema+`.pods RENAME TO pods_history`)
	_, err = r.copy(db, pods).Load(t.Context())
	fails(t, "a history of somebody else", err, "there is a table pods_history which relist has not made")
	exec1(t, r.admin, `ALTER TABLE `+r.schema+`.pods_history RENAME TO x`)
	c := r.copy(db, pods)
	state := write(t, c, load(t, c), "1", put("a", 1, 1))
	other := pods
	other.Resource.Group, other.Name = "metrics.k8s.io", "pods"
	_, err = r.copy(db, other).Load(t.Context())
	fails(t, "a table of another resource", err, "the table has pods, not pods.metrics.k8s.io")

	// Somebody has dropped the table: what was in it is listed anew.
	exec1(t, r.admin, `DROP TABLE `+r.schema+`.pods`)
	if _, err := c.Held(t.Context(), []string{"a"}); err == nil {
		t.Error("Held without a table: no error")
	}
	again := r.copy(db, pods)
	if got := load(t, again); got.Point.Version != "" || got.Epoch != state.Epoch {
		t.Errorf("the state of a table that was dropped is %+v", got)
	}
	r.want()

	exec1(t, r.admin, `UPDATE `+r.schema+`.relist_meta SET value = '99'`)
	_, err = postgres.Open(t.Context(), r.s.URL("postgres", nil), r.opts)
	fails(t, "a schema of a newer version", err, "of layout 99, made by a newer version of relist")
	_, err = r.copy(db, pods).Load(t.Context())
	fails(t, "a schema that became newer", err, "of layout 99, made by a newer version of relist")
	exec1(t, r.admin, `UPDATE `+r.schema+`.relist_meta SET value = 'x'`)
	_, err = postgres.Open(t.Context(), r.s.URL("postgres", nil), r.opts)
	fails(t, "a layout that is no number", err, "relist has not made it")

	r = newRig(t)
	exec1(t, r.admin, `CREATE SCHEMA `+r.schema+`; CREATE TABLE `+r.schema+`.relist_meta (x int)`)
	_, err = postgres.Open(t.Context(), r.s.URL("postgres", nil), r.opts)
	fails(t, "a relist_meta of somebody else", err, "relist_meta", "relist has not made it")
	exec1(t, r.admin, `DROP TABLE `+r.schema+`.relist_meta; CREATE TABLE `+r.schema+`.relist_gaps (x int)`)
	_, err = postgres.Open(t.Context(), r.s.URL("postgres", nil), r.opts)
	fails(t, "a relist_gaps of somebody else", err, "relist_gaps", "already exists")
	if got := query(t, r.admin, `SELECT string_agg(tablename, ' ') FROM pg_tables WHERE schemaname = $1`, r.schema); got != "relist_gaps" {
		t.Errorf("tables that are left: %s", got)
	}
}

// Somebody drops one of the tables that all copies share, or the schema, while a program writes.
func TestDroppedBesideAWriter(t *testing.T) {
	for _, drop := range []string{"TABLE $.relist_state", "TABLE $.relist_gaps", "TABLE $.relist_state, $.relist_gaps, $.pods", "SCHEMA $ CASCADE"} {
		r := newRig(t)
		table := pods
		table.History, table.Columns = time.Hour, []string{"app=.app"}
		c := r.copy(r.open(), table)
		state := load(t, c)
		state = transact(t, c, state, at(opened(state), "1"), true, put("a", 1, 1), put("b", 1, 1))
		exec1(t, r.admin, "DROP "+strings.ReplaceAll(drop, "$", r.schema))
		tx, err := c.Begin(t.Context(), state, true)
		if err == nil {
			err = tx.Commit(t.Context(), at(state, "2"))
		}
		if err == nil {
			t.Errorf("%s: no error", drop)
		}
		state = load(t, c)
		if gaps := drop == "TABLE $.relist_gaps"; (state.Point.Version == "1") != gaps || (state.Epoch == 0) == gaps {
			t.Errorf("%s: the state is %+v", drop, state)
		}
		state = transact(t, c, state, opened(state), false)
		transact(t, c, state, at(state, "3"), true, put("a", 1, 1), put("c", 1, 3, `"app":"x"`), durable.Change[[]byte]{Meta: meta("b", 1, 1), Op: durable.Inferred})
		is(t, drop+": rows", query(t, r.admin, `SELECT key, coalesce(app, '-') FROM `+r.schema+`.pods ORDER BY key`), "a -\nc x")
		is(t, drop+": version", r.version(), "3")
		is(t, drop+": present states", query(t, r.admin, `SELECT key FROM `+r.schema+`.pods_history WHERE to_time IS NULL ORDER BY key`), "a\nc")
	}
}

func TestRights(t *testing.T) {
	r := newRig(t)
	role := r.schema + "_role"
	exec1(t, r.admin, `CREATE ROLE `+role+` LOGIN`)
	open := func() (*postgres.DB, error) { return postgres.Open(t.Context(), r.s.URL(role, nil), r.opts) }
	_, err := open()
	fails(t, "no right to create a schema", err, "permission denied for database", "needs the rights CREATE and USAGE")
	exec1(t, r.admin, `CREATE SCHEMA `+r.schema)
	_, err = open()
	fails(t, "no right to use a schema", err, "permission denied for schema", "needs the rights CREATE and USAGE")
	exec1(t, r.admin, `GRANT CREATE, USAGE ON SCHEMA `+r.schema+` TO `+role)
	db, err := open()
	must.OK(t, err)
	c := r.copy(db, pods)
	write(t, c, load(t, c), "1", put("a", 1, 1))
	exec1(t, r.admin, `ALTER TABLE `+r.schema+`.pods OWNER TO postgres`)
	_, err = c.Begin(t.Context(), at(load(t, c), "1"), false)
	must.OK(t, err)
	load(t, c)
	_, err = c.Held(t.Context(), []string{"a"})
	fails(t, "a table of another owner", err, "permission denied for table pods")

	_, err = postgres.Open(t.Context(), r.s.URL("postgres", url.Values{"default_transaction_read_only": {"on"}}), r.opts)
	fails(t, "a session that only reads", err, "connect to the primary")
	exec1(t, r.admin, `CREATE DATABASE `+r.schema+`_latin ENCODING 'LATIN1' TEMPLATE template0`)
	_, err = postgres.Open(t.Context(), strings.Replace(r.s.URL("postgres", nil), "/postgres?", "/"+r.schema+"_latin?", 1), r.opts)
	fails(t, "a database in Latin-1", err, "the encoding of the database is LATIN1; UTF8 is needed")
}

// TestPassword connects with a wrong password, as the server and the network see it.
func TestPassword(t *testing.T) {
	r := newRig(t)
	u, err := url.Parse(r.s.URL("postgres", nil))
	must.OK(t, err)
	exec1(t, r.admin, `CREATE ROLE with_password LOGIN SUPERUSER PASSWORD 'right2%/?#@x'`) // see pgserver.New
	u.User = url.UserPassword("with_password", "right2%/?#@x")
	if _, err := postgres.Open(t.Context(), u.String(), r.opts); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/postgres", "/none"} {
		u.User, u.Path = url.UserPassword("with_password", "hunter2%/?#@x"), path
		_, err = postgres.Open(t.Context(), u.String(), r.opts)
		fails(t, u.String(), err, "postgres: open schema "+r.schema, "password authentication failed", "in the URL, in PGPASSWORD or in ~/.pgpass")
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error has the password: %v", err)
		}
	}

	// Without one, the error says where a password goes, and it is read from there.
	u.User, u.Path = url.User("with_password"), "/postgres"
	_, err = postgres.Open(t.Context(), u.String(), r.opts)
	fails(t, "no password", err, "password authentication failed", "no password was given: set PGPASSWORD, or write ~/.pgpass")
	file := filepath.Join(t.TempDir(), "pgpass")
	must.OK(t, os.WriteFile(file, []byte(`localhost:*:*:with_password:right2%/?#@x`+"\n"), 0o600))
	for name, value := range map[string]string{"PGPASSWORD": "right2%/?#@x", "PGPASSFILE": file} { // ~/.pgpass is the default of PGPASSFILE
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if _, err := postgres.Open(t.Context(), u.String(), r.opts); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCompression(t *testing.T) {
	r := newRig(t)
	best := query(t, r.admin, `SELECT CASE WHEN 'lz4' = ANY(enumvals) THEN 'lz4' ELSE 'pglz' END FROM pg_settings WHERE name = 'default_toast_compression'`)
	c := r.copy(r.open(), pods)
	write(t, c, load(t, c), "1", put("a", 1, 1, `"x":"`+strings.Repeat("abcdefgh", 4000)+`"`))
	if got := query(t, r.admin, `SELECT pg_column_compression(object) FROM `+r.schema+`.pods`); got != best {
		t.Errorf("the object is compressed with %s, want %s", got, best)
	}
}
