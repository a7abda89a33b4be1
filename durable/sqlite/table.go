package sqlite

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"k8s.io/apimachinery/pkg/runtime/schema"
	driver "zombiezen.com/go/sqlite"

	"github.com/relist-go/relist/durable"
)

// table is a Table that was checked.
type table struct {
	durable.Table
	columns []column
}

// prepare checks a Table, and fills in what it leaves out.
func prepare(t durable.Table) (table, error) {
	checked, columns, err := rules.Prepare(t)
	if err != nil {
		return table{}, err
	}
	out := table{Table: checked}
	for _, named := range columns {
		c, err := columnOf(named)
		if err != nil {
			return table{}, err
		}
		out.columns = append(out.columns, c)
	}
	return out, nil
}

// generated are columns that every table has besides those that the program has named. Nothing is
// stored for them, but SQLite computes them at each write as well, which is a fifth of the time of
// a first copy.
const generated = `
	labels  TEXT GENERATED ALWAYS AS (object -> '$.metadata.labels') VIRTUAL,
	created TEXT GENERATED ALWAYS AS (object ->> '$.metadata.creationTimestamp') VIRTUAL,`

// made reports whether the tables of t are as they should be. Then nothing waits for another copy's
// transaction.
func (t table) made(conn *driver.Conn) (bool, error) {
	columns, err := json.Marshal(t.columns)
	if err != nil {
		return false, err
	}
	last := t.Name
	if t.History > 0 {
		last += "_history"
	}
	found := int64(0)
	err = exec(conn, `SELECT count(*) FROM relist_tables WHERE table_name = ?1 AND api_group = ?2 AND resource = ?3 AND columns = ?4
		AND EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1) AND EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?5)`,
		number(&found), t.Name, t.Resource.Group, t.Resource.Resource, string(columns), last)
	return found > 0, err
}

// make makes the tables of t, or changes their columns.
func (t table) make(conn *driver.Conn) error {
	if made, err := t.made(conn); made || err != nil {
		return err
	}
	return immediate(conn, func() error {
		known, err := t.register(conn)
		if err != nil {
			return err
		}
		had := known
		there, err := exists(conn, t.Name)
		if err != nil {
			return err
		}
		if !there {
			// If somebody has dropped one that was known, the rows that its states are about are
			// gone, too.
			had = nil
			if err := exec(conn, "UPDATE relist_state SET version = '', recorded = 0 WHERE table_name = ?", nil, t.Name); err != nil {
				return err
			}
		}
		if err := script(conn,
			`CREATE TABLE IF NOT EXISTS "`+t.Name+`" (
	cluster TEXT NOT NULL,
	key TEXT NOT NULL,
	namespace TEXT NOT NULL,
	name TEXT NOT NULL,
	uid TEXT NOT NULL,
	resource_version TEXT NOT NULL,`+generated+`
	object TEXT NOT NULL,
	PRIMARY KEY (cluster, key))`); err != nil {
			return err
		}
		if err := t.changeColumns(conn, t.Name, had); err != nil {
			return err
		}
		history := t.Name + "_history"
		there, err = exists(conn, history)
		if err != nil || !there && t.History == 0 {
			return err
		}
		if there {
			had = known
		} else {
			// The next transaction of each copy writes the present states down, also if somebody
			// has dropped a history.
			had = nil
			if err := exec(conn, "UPDATE relist_state SET recorded = 0, recorded_version = '', recorded_at = '' WHERE table_name = ?", nil, t.Name); err != nil {
				return err
			}
			if err := script(conn,
				`CREATE TABLE "`+history+`" (
	cluster TEXT NOT NULL,
	key TEXT NOT NULL,
	namespace TEXT NOT NULL,
	name TEXT NOT NULL,
	uid TEXT NOT NULL,
	resource_version TEXT NOT NULL, -- the state began with this version
	from_time TEXT NOT NULL,        -- when that was seen
	to_version TEXT,                -- the state ended with this version; NULL: not ended, or nobody knows
	to_time TEXT,                   -- when the end was seen; NULL: not ended
	ended TEXT,                     -- put, deleted, inferred, unselected, unrecorded; NULL: not ended
`+generated+`
	object TEXT NOT NULL)`,
				`CREATE UNIQUE INDEX "`+history+`.present" ON "`+history+`" (cluster, key) WHERE to_time IS NULL`,
				`CREATE INDEX "`+history+`.key" ON "`+history+`" (cluster, key, from_time)`,
				`CREATE INDEX "`+history+`.ended" ON "`+history+`" (cluster, to_time) WHERE to_time IS NOT NULL`); err != nil {
				return err
			}
		}
		return t.changeColumns(conn, history, had)
	})
}

func exists(conn *driver.Conn, table string) (bool, error) {
	found := int64(0)
	err := exec(conn, "SELECT count(*) FROM sqlite_schema WHERE name = ?", number(&found), table)
	return found > 0, err
}

// register writes down what the table is of, and returns the columns that it has had so far.
func (t table) register(conn *driver.Conn) (had []column, err error) {
	group, resource, columns := "", "", ""
	found := false
	err = exec(conn, "SELECT api_group, resource, columns FROM relist_tables WHERE table_name = ?", func(s *driver.Stmt) {
		found, group, resource, columns = true, s.ColumnText(0), s.ColumnText(1), s.ColumnText(2)
	}, t.Name)
	if err != nil {
		return nil, err
	}
	if found && (group != t.Resource.Group || resource != t.Resource.Resource) {
		return nil, fmt.Errorf("the table has %s, not %s: choose another Table.Name",
			schema.GroupResource{Group: group, Resource: resource}, t.Resource.GroupResource())
	}
	if !found {
		taken := int64(0)
		err := exec(conn, "SELECT count(*) FROM sqlite_schema WHERE name IN (?, ?)", number(&taken), t.Name, t.Name+"_history")
		if err != nil {
			return nil, err
		}
		if taken > 0 {
			return nil, errors.New("there is a table of that name which relist has not made: choose another Table.Name")
		}
	} else if err := json.Unmarshal([]byte(columns), &had); err != nil {
		return nil, fmt.Errorf("relist_tables.columns: %w", err)
	}
	now, err := json.Marshal(t.columns)
	if err != nil {
		return nil, err
	}
	return had, exec(conn, `INSERT INTO relist_tables (table_name, api_group, resource, columns) VALUES (?, ?, ?, ?)
		ON CONFLICT (table_name) DO UPDATE SET columns = excluded.columns`, nil, t.Name, t.Resource.Group, t.Resource.Resource, string(now))
}

// changeColumns gives a table the columns of t. The columns are computed from the object when they
// are read, and only their indexes are stored. So no row is written for that.
func (t table) changeColumns(conn *driver.Conn, name string, had []column) error {
	for _, c := range had {
		if slices.Contains(t.columns, c) {
			continue
		}
		if err := script(conn,
			`DROP INDEX IF EXISTS "`+name+`.`+c.Name+`"`,
			`ALTER TABLE "`+name+`" DROP COLUMN "`+c.Name+`"`); err != nil {
			return err
		}
	}
	for _, c := range t.columns {
		if slices.Contains(had, c) {
			continue
		}
		if err := script(conn,
			`ALTER TABLE "`+name+`" ADD COLUMN "`+c.Name+`" GENERATED ALWAYS AS (object ->> `+literal(c.Path)+`) VIRTUAL`,
			`CREATE INDEX "`+name+`.`+c.Name+`" ON "`+name+`" ("`+c.Name+`")`); err != nil {
			return err
		}
	}
	return nil
}

// script runs statements that the connection does not keep.
func script(conn *driver.Conn, statements ...string) error {
	for _, s := range statements {
		stmt, _, err := conn.PrepareTransient(s)
		if err != nil {
			return err
		}
		_, err = stmt.Step()
		if err := cmp.Or(err, stmt.Finalize()); err != nil {
			return err
		}
	}
	return nil
}
