package check

import (
	"testing"
	"time"
)

// Tables of an earlier version, whose columns are generated, get other columns, and keep those that
// stay.
func TestColumnsOfAnEarlierVersion(t *testing.T) {
	r := newRig(t)
	table := pods
	table.History = time.Hour
	c := r.copy(r.open(), table)
	write(t, c, load(t, c), "1", put("a", 1, 1, `"spec":{"nodeName":"n1"}`), put("b", 1, 1))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pods", "pods_history"} {
		exec1(t, r.admin, `ALTER TABLE `+r.schema+`.`+name+`
			ADD COLUMN node text GENERATED ALWAYS AS (left(object #>> ARRAY['spec', 'nodeName'], 500)) STORED,
			ADD COLUMN old text GENERATED ALWAYS AS (left(object #>> ARRAY['spec'], 500)) STORED`)
	}
	exec1(t, r.admin, `UPDATE `+r.schema+`.relist_tables SET columns = '[{"name":"node","path":["spec","nodeName"]},{"name":"old","path":["spec"]}]'`)
	rows := `SELECT key, coalesce(node, '-'), coalesce(app, '-'), coalesce(old, '-') FROM ` + r.schema + `.pods ORDER BY key`

	table.Columns = []string{"node=.spec.nodeName", "app=.app", "old=.metadata.uid"}
	other := r.copy(r.open(), table)
	load(t, other)
	is(t, "rows", query(t, r.admin, rows), "a n1 - u1\nb - - u1")
	write(t, other, load(t, other), "2", put("a", 1, 2, `"spec":{"nodeName":"n2"},"app":"x"`), put("c", 1, 2, `"spec":{"nodeName":"n3"}`))
	is(t, "rows", query(t, r.admin, rows), "a n2 x u1\nb - - u1\nc n3 - u1")
	is(t, "history", query(t, r.admin, `SELECT key, coalesce(node, '-'), coalesce(app, '-') FROM `+r.schema+`.pods_history WHERE to_time IS NULL ORDER BY key`), "a n2 x\nb - -\nc n3 -")

	table.Columns = nil
	none := r.copy(r.open(), table)
	write(t, none, load(t, none), "3", put("a", 1, 3))
	is(t, "columns", query(t, r.admin, `SELECT count(*) FROM pg_attribute WHERE attrelid = '`+r.schema+`.pods'::regclass AND attname IN ('node', 'app', 'old')`), "0")
}
