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

// TestConforms is the test of what every copy must do. Its places are tables of one schema, because a schema for each takes longer.
func TestConforms(t *testing.T) {
	r := newRig(t)
	db := r.open()
	recorded := pods
	recorded.History, recorded.Retention = true, time.Hour
	places := 0
	for name, table := range map[string]postgres.Table{"rows": pods, "history": recorded} {
		t.Run(name, func(t *testing.T) {
			durabletest.Test(t, func(testing.TB) durabletest.Place[*listwatch.Raw] {
				places++
				table.Name = fmt.Sprint("p", places)
				return r.place(db, table)
			})
		})
	}
}

func (r *rig) place(db *postgres.DB, table postgres.Table) durabletest.Place[*listwatch.Raw] {
	return durabletest.Place[*listwatch.Raw]{
		Open: func() (durable.Copy[*listwatch.Raw], func()) {
			c, err := postgres.New(db, table, (*listwatch.Raw).MarshalJSON)
			if err != nil {
				r.t.Error(err)
			}
			return c, func() { _ = c.Close() }
		},
		Rows: func() []durabletest.Row {
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
			var from *pgconn.PgError
			if err != nil && (!errors.As(err, &from) || from.Code != "42P01") { // before the first Load, there is no table
				r.t.Error(err)
			}
			return all
		},
	}
}
