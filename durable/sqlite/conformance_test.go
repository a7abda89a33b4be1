package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/durabletest"
	"github.com/relist-go/relist/durable/sqlite"
	"github.com/relist-go/relist/listwatch"
)

// The conformance test for a Copy, with a history and an index, so that every statement is run.
func TestConformance(t *testing.T) {
	table := sqlite.Table{Resource: pods, Cluster: "east", Columns: []string{"node=.spec.nodeName"}, History: true, Retention: time.Hour}
	durabletest.Test(t, func(t testing.TB) durabletest.Place[*listwatch.Raw] {
		path := filepath.Join(t.TempDir(), "copy.db")
		return durabletest.Place[*listwatch.Raw]{
			Open: func() (durable.Copy[*listwatch.Raw], func()) {
				db, err := sqlite.Open(path, sqlite.Options{Shared: true, WALSize: 1 << 20})
				if err != nil {
					t.Fatal(err)
				}
				c, err := sqlite.New(db, table, (*listwatch.Raw).MarshalJSON)
				if err != nil {
					t.Fatal(err)
				}
				return c, func() {
					if err := db.Close(); err != nil {
						t.Error(err)
					}
				}
			},
			Rows: func() []durabletest.Row { return rows(t, path) },
		}
	})
}

func rows(t testing.TB, path string) []durabletest.Row {
	t.Helper()
	conn, err := sqlite.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var rows []durabletest.Row
	err = sqlitex.Execute(conn.Conn, "SELECT key, uid, resource_version, object FROM pods", &sqlitex.ExecOptions{ResultFunc: func(s *driver.Stmt) error {
		rows = append(rows, durabletest.Row{
			Meta:   listwatch.Meta{Key: s.ColumnText(0), UID: types.UID(s.ColumnText(1)), ResourceVersion: s.ColumnText(2)},
			Object: []byte(s.ColumnText(3)),
		})
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
