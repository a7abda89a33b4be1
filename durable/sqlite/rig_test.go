package sqlite_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/sqlite"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// text is an object that is its own JSON.
type text = string

func encode(o text) ([]byte, error) { return []byte(o), nil }

// rig is a file with one copy in it.
type rig struct {
	t    testing.TB
	path string
	opts sqlite.Options
	db   *sqlite.DB
	copy *sqlite.Copy[text]
	tx   durable.Tx[text]
	at   durable.State
}

func newRig(t *testing.T, table durable.Table) *rig {
	t.Helper()
	return newRigWith(t, table, sqlite.Options{})
}

func newRigWith(t *testing.T, table durable.Table, opts sqlite.Options) *rig {
	t.Helper()
	r := &rig{t: t, path: filepath.Join(t.TempDir(), "copy.db"), opts: opts}
	r.open(table)
	t.Cleanup(func() { r.db.Close() })
	return r
}

func (r *rig) open(table durable.Table) {
	r.t.Helper()
	var err error
	if r.db, err = sqlite.Open(r.path, r.opts); err != nil {
		r.t.Fatal(err)
	}
	r.copy = newCopy(r.t, r.db, table)
	r.load()
}

func newCopy(t testing.TB, db *sqlite.DB, table durable.Table) *sqlite.Copy[text] {
	t.Helper()
	if table.Resource.Resource == "" {
		table.Resource = pods
	}
	c, err := sqlite.New(db, table, encode)
	must.OK(t, err)
	return c
}

func (r *rig) load() {
	r.t.Helper()
	var err error
	if r.at, err = r.copy.Load(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// commit writes changes in one transaction, after which the copy is at version.
func (r *rig) commit(list bool, version string, changes ...durable.Change[text]) {
	r.t.Helper()
	r.begin(list)
	r.write(changes...)
	next := r.at
	next.Point.Version = version
	if err := r.tx.Commit(r.t.Context(), next); err != nil {
		r.t.Fatal(err)
	}
	r.at = next
}

func (r *rig) begin(list bool) {
	r.t.Helper()
	var err error
	if r.tx, err = r.copy.Begin(r.t.Context(), r.at, list); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) write(changes ...durable.Change[text]) {
	r.t.Helper()
	if err := r.tx.Write(r.t.Context(), changes); err != nil {
		r.t.Fatal(err)
	}
}

// query returns the rows of a query of another connection, with | between columns.
func (r *rig) query(sql string, args ...any) []string {
	r.t.Helper()
	conn, err := sqlite.OpenReader(r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close()
	return query(r.t, conn.Conn, sql, args...)
}

func query(t testing.TB, conn *driver.Conn, sql string, args ...any) []string {
	t.Helper()
	rows := []string{}
	err := sqlitex.Execute(conn, sql, &sqlitex.ExecOptions{Args: args, ResultFunc: func(s *driver.Stmt) error {
		var columns []string
		for i := range s.ColumnCount() {
			v := s.ColumnText(i)
			if s.ColumnIsNull(i) {
				v = "NULL"
			}
			columns = append(columns, v)
		}
		rows = append(rows, strings.Join(columns, "|"))
		return nil
	}})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// other runs statements on a connection of its own, as another program would.
func (r *rig) other(sql ...string) {
	r.t.Helper()
	conn, err := driver.OpenConn(r.path, driver.OpenReadWrite|driver.OpenCreate)
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close()
	for _, s := range sql {
		if err := sqlitex.ExecuteTransient(conn, s, nil); err != nil {
			r.t.Fatalf("%s: %v", s, err)
		}
	}
}

func meta(key, uid, version string) object.Meta {
	return object.Meta{Key: key, UID: types.UID(uid), ResourceVersion: version}
}

// put is the Put of a Pod on a node.
func put(key, uid, version, node string) durable.Change[text] {
	return durable.Change[text]{Meta: meta(key, uid, version), Op: durable.Put, Object: pod(key, uid, version, node)}
}

func pod(key, uid, version, node string) text {
	namespace, name, _ := strings.Cut(key, "/")
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":%q,"uid":%q,"resourceVersion":%q,"labels":{"app":"web"},"creationTimestamp":"2026-01-02T03:04:05Z"},`+
		`"spec":{"nodeName":%q,"containers":[{"image":"web:%s"}]}}`, name, namespace, uid, version, node, version)
}

func gone(how durable.Op, key, uid, version string) durable.Change[text] {
	return durable.Change[text]{Meta: meta(key, uid, version), Op: how}
}

func state(epoch int64, version string) durable.State {
	return durable.State{Epoch: epoch, Point: reflector.Point{Version: version}}
}
