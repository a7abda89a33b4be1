package check

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/durabletest"
	"github.com/relist-go/relist/durable/postgres"
	"github.com/relist-go/relist/listwatch"
)

// TestConforms is the test of what every copy must do. Its places are tables of one schema, because
// a schema for each takes longer.
func TestConforms(t *testing.T) {
	r := newRig(t)
	db := r.open()
	recorded := pods
	recorded.History = time.Hour
	places := 0
	for name, table := range map[string]durable.Table{"rows": pods, "history": recorded} {
		t.Run(name, func(t *testing.T) {
			durabletest.Test(t, func(testing.TB) durabletest.Place[*listwatch.Raw] {
				places++
				table.Name = fmt.Sprint("p", places)
				return r.place(db, table)
			})
		})
	}
}

func (r *rig) place(db *postgres.DB, table durable.Table) durabletest.Place[*listwatch.Raw] {
	return durabletest.Place[*listwatch.Raw]{
		Open: func() (durable.Copy[*listwatch.Raw], func()) {
			c, err := postgres.New(db, table, (*listwatch.Raw).MarshalJSON)
			if err != nil {
				r.t.Error(err)
			}
			return c, func() { _ = c.Close() }
		},
		Rows: func() []durabletest.Row {
			if table.History > 0 {
				r.comparePresent(table.Name)
			}
			rows, err := r.admin.Query(r.t.Context(), `SELECT key, uid, resource_version, object::text FROM `+r.schema+`.`+table.Name)
			if err != nil {
				r.t.Error(err)
				return nil
			}
			all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r durabletest.Row, err error) {
				var uid string
				err = row.Scan(&r.Meta.Key, &uid, &r.Meta.ResourceVersion, &r.Object)
				r.Meta.UID = types.UID(uid)
				return r, err
			})
			if err != nil && !undefinedTable(err) { // before the first Load, there is no table
				r.t.Error(err)
			}
			return all
		},
	}
}

// comparePresent fails unless the rows of a table are the present states of its history.
func (r *rig) comparePresent(name string) {
	columns := `cluster, key, uid, resource_version, object`
	now := `SELECT ` + columns + ` FROM ` + r.schema + `.` + name
	present := `SELECT ` + columns + ` FROM ` + r.schema + `.` + name + `_history WHERE to_time IS NULL`
	var differ int
	err := r.admin.QueryRow(r.t.Context(), `SELECT (SELECT count(*) FROM (`+now+` EXCEPT `+present+`) a) + (SELECT count(*) FROM (`+present+` EXCEPT `+now+`) b)`).Scan(&differ)
	if undefinedTable(err) { // before the first Load
		return
	}
	if err != nil || differ > 0 {
		r.t.Errorf("%s: %d differences between rows and present states of the history, %v", name, differ, err)
	}
}

func undefinedTable(err error) bool {
	var from *pgconn.PgError
	return errors.As(err, &from) && from.Code == "42P01"
}
