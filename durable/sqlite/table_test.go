package sqlite_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	driver "zombiezen.com/go/sqlite"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/sqlite"
)

// Before 3.51.3, a checkpoint could damage a file that two connections write to, and each copy has
// a connection: https://www.sqlite.org/wal.html#walresetbug
func TestVersionOfSQLite(t *testing.T) {
	if driver.VersionNumber < 3051003 {
		t.Errorf("SQLite is %s: modernc.org/sqlite must be newer", driver.Version)
	}
}

func TestTableRefused(t *testing.T) {
	r := newRig(t, durable.Table{})
	r.other("CREATE TABLE mine (x)", "CREATE TABLE other_history (x)")
	for want, table := range map[string]durable.Table{
		`Table.Name "sqlite_x"`:                              {Name: "sqlite_x"},
		"the table has pods, not pods.metrics":               {Name: "pods", Cluster: "other", Resource: schema.GroupVersionResource{Group: "metrics", Version: "v1", Resource: "pods"}},
		"which relist has not made":                          {Name: "mine"},
		"relist has not made: choose":                        {Name: "other"},
		`there is a Copy of cluster "" in it`:                {},
		`the Copy of cluster "" has other columns`:           {Cluster: "other", Columns: []string{"node=.spec.nodeName"}},
		`column "present=.a": every table`:                   {Name: "x", Columns: []string{"present=.a"}},
		`SQLite cannot look for a member of the name "a\"b"`: {Name: "x", Columns: []string{`a=.a"b`}},
	} {
		if table.Resource.Resource == "" {
			table.Resource = pods
		}
		if _, err := sqlite.New(r.db, table, encode); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), r.path) {
			t.Errorf("%+v: %v, want %q", table, err, want)
		}
	}
	if _, err := sqlite.New[text](r.db, durable.Table{Name: "x", Resource: pods}, nil); err == nil {
		t.Error("New without a function that encodes: no error")
	}
}

// Columns come and go without a write of any row, those of former states, too.
func TestColumns(t *testing.T) {
	table := durable.Table{History: time.Hour, Columns: []string{"node=.spec.nodeName"}}
	r := newRig(t, table)
	odd := durable.Change[text]{Meta: meta("a/odd", "u1", "1"), Op: durable.Put, Object: `{"metadata":{"labels":{"app.kubernetes.io/name":"it's"}},` +
		`"spec":{"replicas":10,"paused":true,"select":{"a":[1]},"none":null,"list":[{"x":"first"},{"x":"second"}]}}`}
	r.commit(true, "5", odd, put("a/b", "u2", "2", "n1"))
	r.db.Close()
	table.Columns = []string{
		`app=.metadata.labels["app.kubernetes.io/name"]`, "replicas=.spec.replicas", "paused=.spec.paused", "select=.spec.select", "none=.spec.none",
		"second=.spec.list[1].x", "third=.spec.list[2].x", "node=.spec.containers[0].image", `quoted=.spec["it's"]`,
	}
	r.open(table)
	for _, name := range []string{"pods", "pods_history"} {
		got := r.query(`SELECT app, replicas, paused, "select", none, second, third, node, typeof(replicas) FROM ` + name + " ORDER BY key DESC")
		want := []string{`it's|10|1|{"a":[1]}|NULL|second|NULL|NULL|integer`, "NULL|NULL|NULL|NULL|NULL|NULL|NULL|web:2|null"}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		plan := r.query("EXPLAIN QUERY PLAN SELECT key FROM "+name+" WHERE app = ?", "x")
		if !strings.Contains(strings.Join(plan, "\n"), name+".app") {
			t.Errorf("%s: no index is used: %q", name, plan)
		}
	}
	r.commit(false, "6", put("a/c", "u3", "6", "n2"))
	r.db.Close()
	r.open(durable.Table{})
	if got := r.query("SELECT name FROM pragma_table_xinfo('pods') WHERE name IN ('app', 'node')"); len(got) != 0 {
		t.Errorf("columns are left: %q", got)
	}
	r.commit(false, "7", odd)
}

// If somebody drops a table, everything is listed, whatever columns there are now, and the history
// ends what it has as present. If somebody drops the history, it begins again with the rows.
func TestDroppedTable(t *testing.T) {
	for _, columns := range [][]string{nil, {"node=.spec.nodeName"}, {"image=.spec.containers[0].image"}} {
		table := durable.Table{Columns: []string{"node=.spec.nodeName"}, History: time.Hour}
		r := newRig(t, table)
		r.commit(true, "10", put("a/b", "u1", "1", "n1"), put("a/c", "u2", "2", "n1"))
		r.db.Close()
		r.other("DROP TABLE pods")
		table.Columns = columns
		r.open(table)
		if r.at.Point.Version != "" {
			t.Errorf("columns %q: the copy is at version %s, and has no rows", columns, r.at.Point.Version)
		}
		r.commit(true, "20", put("a/b", "u1", "1", "n1"))
		r.want("states", "SELECT key, resource_version, ended FROM pods_history ORDER BY rowid", "a/b|1|unrecorded", "a/c|2|unrecorded", "a/b|1|NULL")
		r.db.Close()
		r.other("DROP TABLE pods_history")
		r.open(table)
		r.commit(false, r.at.Point.Version)
		r.want("states", "SELECT key, resource_version, ended FROM pods_history", "a/b|1|NULL")
		r.want("the last gap", "SELECT kind, from_version, from_time, to_version FROM relist_gaps ORDER BY rowid DESC LIMIT 1", "off|||20")
	}
}

// If somebody drops a table that all copies share, Load makes it again.
func TestDroppedSharedTable(t *testing.T) {
	for table, want := range map[string]string{"relist_state": "", "relist_gaps": "10"} {
		r := newRig(t, durable.Table{History: time.Hour})
		r.commit(true, "10", put("a/b", "u1", "1", "n1"))
		r.other("DROP TABLE " + table)
		if tx, err := r.copy.Begin(t.Context(), r.at, true); err == nil {
			if err := tx.Commit(t.Context(), state(0, "11")); err == nil {
				t.Errorf("%s: no error", table)
			}
		}
		r.load()
		if r.at.Point.Version != want {
			t.Errorf("%s: the copy is at version %q, want %q", table, r.at.Point.Version, want)
		}
		r.commit(true, "20", put("a/b", "u1", "1", "n1"), put("a/c", "u2", "2", "n1"))
		r.want("present states", "SELECT key FROM pods_history WHERE to_time IS NULL ORDER BY key", "a/b", "a/c")
		r.db.Close()
	}
}

// If somebody drops relist_state while the history is off, the history continues with the rows as
// they are.
func TestDroppedStateOfACopyWithoutHistory(t *testing.T) {
	table := durable.Table{History: time.Hour}
	r := newRig(t, table)
	r.commit(true, "10", put("a/b", "u1", "1", "n1"), put("a/c", "u2", "2", "n1"))
	r.db.Close()
	r.open(durable.Table{})
	r.commit(false, "12", put("a/b", "u1", "11", "n1"), gone(durable.Deleted, "a/c", "u2", "12"))
	r.db.Close()
	r.other("DROP TABLE relist_state")
	r.open(table)
	r.commit(true, "20", put("a/b", "u1", "11", "n1"))
	r.want("states", "SELECT key, resource_version, ended FROM pods_history ORDER BY rowid", "a/b|1|unrecorded", "a/c|2|unrecorded", "a/b|11|NULL")
	r.want("gaps", "SELECT kind, from_version, to_version FROM relist_gaps ORDER BY rowid", "list||10", "off|10|20")
}

func TestCheck(t *testing.T) {
	deep := func(n int) string {
		return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + "}"
	}
	r := newRig(t, durable.Table{Columns: []string{"a=.a"}})
	for object, good := range map[string]bool{
		`{}`: true, "{\"a\":1}\n": true, `{"a":"\u0000"}`: true, `{"a":1,"a":2}`: true, `{"a":"😀é"}`: true, deep(1000): true,
		deep(1001): false, ``: false, `null`: false, `[]`: false, `{`: false, `{"a":1}x`: false, `{"a":1}{}`: false, "{\"a\":\"\xff\"}": false, `{'a':1}`: false,
	} {
		name := object[:min(len(object), 20)]
		if err := sqlite.Check([]byte(object)); (err == nil) != good {
			t.Errorf("Check(%.20q) = %v", name, err)
		}
		if !good {
			continue
		}
		r.commit(false, r.at.Point.Version+"1", durable.Change[text]{Meta: meta("a", "u", name), Op: durable.Put, Object: object})
		if got := r.query("SELECT object FROM pods"); len(got) != 1 || got[0] != object {
			t.Errorf("stored %.20q as %.20q", name, got)
		}
	}
}
