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
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
)

// The conformance test for a Copy, with a history and an index, so that every statement is run, and
// beside the row of another cluster.
func TestConformance(t *testing.T) {
	table := durable.Table{Resource: pods, Cluster: "east", Columns: []string{"node=.spec.nodeName"}, History: time.Hour}
	durabletest.Test(t, func(t testing.TB) durabletest.Place[*listwatch.Raw] {
		path := filepath.Join(t.TempDir(), "copy.db")
		writeWest(t, path, table)
		return durabletest.Place[*listwatch.Raw]{
			Open: func() (durable.Copy[*listwatch.Raw], func()) {
				db, err := sqlite.Open(path, sqlite.Options{Shared: true})
				must.OK(t, err)
				db.SetLogSize(1 << 20)
				c, err := sqlite.New(db, table, (*listwatch.Raw).MarshalJSON)
				must.OK(t, err)
				return c, func() {
					if err := db.Close(); err != nil {
						t.Error(err)
					}
				}
			},
			Rows: func() []durabletest.Row {
				r := &rig{t: t, path: path}
				r.want("differences between rows and present states", differences)
				return rows(t, path)
			},
		}
	})
}

// writeWest writes a row of another cluster, with a key that rows of east have, too.
func writeWest(t testing.TB, path string, table durable.Table) {
	t.Helper()
	table.Cluster = "west"
	db, err := sqlite.Open(path, sqlite.Options{})
	must.OK(t, err)
	defer db.Close()
	c, err := sqlite.New(db, table, encode)
	must.OK(t, err)
	tx, err := c.Begin(t.Context(), durable.State{}, false)
	if err == nil {
		err = tx.Write(t.Context(), []durable.Change[text]{put("default/a", "west", "1", "n1")})
	}
	if err == nil {
		err = tx.Commit(t.Context(), state(1, "1"))
	}
	must.OK(t, err)
}

// differences are the rows that are no present state of the history, the present states that are no
// row, and a row of west that is lost.
const differences = `WITH now AS (SELECT cluster, key, uid, resource_version, object FROM pods),
	present AS (SELECT cluster, key, uid, resource_version, object FROM pods_history WHERE to_time IS NULL)
	SELECT 'row', key FROM (SELECT * FROM now EXCEPT SELECT * FROM present)
	UNION ALL SELECT 'state', key FROM (SELECT * FROM present EXCEPT SELECT * FROM now)
	UNION ALL SELECT 'west', count(*) FROM now WHERE cluster = 'west' HAVING count(*) <> 1`

// rows returns the rows that are not of west.
func rows(t testing.TB, path string) []durabletest.Row {
	t.Helper()
	conn, err := sqlite.OpenReader(path)
	must.OK(t, err)
	defer conn.Close()
	var rows []durabletest.Row
	query := "SELECT key, uid, resource_version, object FROM pods WHERE cluster <> 'west'"
	err = sqlitex.Execute(conn.Conn, query, &sqlitex.ExecOptions{ResultFunc: func(s *driver.Stmt) error {
		rows = append(rows, durabletest.Row{
			Meta:   object.Meta{Key: s.ColumnText(0), UID: types.UID(s.ColumnText(1)), ResourceVersion: s.ColumnText(2)},
			Object: []byte(s.ColumnText(3)),
		})
		return nil
	}})
	must.OK(t, err)
	return rows
}
