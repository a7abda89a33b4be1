package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/durable"
)

// maxCluster bounds the name of a cluster, because it is in an index together with the key: an
// entry has 2,704 bytes at most, see also maxNameBytes.
const maxCluster = 253

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
	if !storable(t.Cluster) || len(t.Cluster) > maxCluster {
		return table{}, fmt.Errorf("Table.Cluster %.300q: want UTF-8 without a NUL, at most %d bytes", t.Cluster, maxCluster)
	}
	out := table{Table: checked}
	for _, named := range columns {
		out.columns = append(out.columns, columnOf(named))
	}
	return out, nil
}

// created is the time of creation. A cast from text to timestamptz depends on settings of the
// session, so it cannot be in a generated column; and a text that is no time must not refuse the
// row. A day that the month lacks becomes one of the next month.
const created = `CASE WHEN object #>> '{metadata,creationTimestamp}'
		~ '^[1-9][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?Z$'
	THEN (make_date(left(object #>> '{metadata,creationTimestamp}', 4)::int, substr(object #>> '{metadata,creationTimestamp}', 6, 2)::int, 1)
		+ (substr(object #>> '{metadata,creationTimestamp}', 9, 2)::int - 1)
		+ make_time(substr(object #>> '{metadata,creationTimestamp}', 12, 2)::int, substr(object #>> '{metadata,creationTimestamp}', 15, 2)::int,
			substr(object #>> '{metadata,creationTimestamp}', 18, 2)::int)) AT TIME ZONE 'UTC' END`

// columnsSQL are the columns that a table and its history have in common.
const columnsSQL = `
		cluster text NOT NULL,
		key text COLLATE "C" NOT NULL,
		namespace text NOT NULL GENERATED ALWAYS AS (CASE WHEN strpos(key, '/') > 0 THEN split_part(key, '/', 1) ELSE '' END) STORED,
		name text NOT NULL GENERATED ALWAYS AS (substr(key, strpos(key, '/') + 1)) STORED,
		uid text NOT NULL,
		resource_version text NOT NULL,
		labels jsonb GENERATED ALWAYS AS (object #> '{metadata,labels}') STORED,
		created timestamptz GENERATED ALWAYS AS (` + created + `) STORED,
		object jsonb COMPRESSION %[2]s NOT NULL`

const tableSQL = `
	CREATE TABLE %[1]s (` + columnsSQL + `,
		PRIMARY KEY (cluster, key)
	)`

const historySQL = `
	CREATE TABLE %[1]s (` + columnsSQL + `,
		from_time timestamptz NOT NULL,
		to_version text,
		to_time timestamptz,
		ended text
	);
	CREATE UNIQUE INDEX ON %[1]s (cluster, key) WHERE to_time IS NULL;
	CREATE INDEX ON %[1]s (cluster, key, from_time);
	CREATE INDEX ON %[1]s (cluster, to_time) WHERE to_time IS NOT NULL`

// make makes the tables of t, or changes their columns.
func (db *DB) make(ctx context.Context, conn *pgx.Conn, t table) error {
	return db.alone(ctx, conn, func(tx pgx.Tx) error {
		if err := db.migrate(ctx, tx); err != nil { // somebody may have changed it since Open
			return err
		}
		had, known, err := db.register(ctx, tx, t)
		if err != nil {
			return err
		}
		there, err := db.exists(ctx, tx, t.Name)
		if err != nil {
			return err
		}
		if !there {
			if err := db.makeTable(ctx, tx, t, known); err != nil {
				return err
			}
		}
		if err := db.changeColumns(ctx, tx, t, t.Name, had, there); err != nil {
			return err
		}
		history := t.Name + "_history"
		there, err = db.exists(ctx, tx, history)
		if err != nil || !there && t.History == 0 {
			return err
		}
		if !there {
			if err := db.run(ctx, tx, fmt.Sprintf(historySQL, db.name(history), db.compression)); err != nil {
				return err
			}
			// The next transaction of each copy writes the present states down, also if somebody
			// has dropped a history.
			if _, err := tx.Exec(ctx, `UPDATE `+db.name("relist_state")+` SET recorded = false, recorded_version = '', recorded_at = NULL
				WHERE table_name = $1`, t.Name); err != nil {
				return err
			}
		}
		return db.changeColumns(ctx, tx, t, history, had, there)
	})
}

// register writes down what the table is of, and returns the columns that it has had so far.
func (db *DB) register(ctx context.Context, tx pgx.Tx, t table) (had []column, known bool, err error) {
	var group, resource string
	var columns []byte
	err = tx.QueryRow(ctx, `SELECT api_group, resource, columns::text FROM `+db.name("relist_tables")+` WHERE table_name = $1`, t.Name).
		Scan(&group, &resource, &columns)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		for _, name := range []string{t.Name, t.Name + "_history"} {
			there, err := db.exists(ctx, tx, name)
			if err != nil {
				return nil, false, err
			}
			if there {
				return nil, false, fmt.Errorf("there is a table %s which relist has not made: choose another Table.Name, or another schema", name)
			}
		}
	case err != nil:
		return nil, false, err
	case group != t.Resource.Group || resource != t.Resource.Resource:
		return nil, false, fmt.Errorf("the table has %s, not %s: choose another Table.Name",
			schema.GroupResource{Group: group, Resource: resource}, t.Resource.GroupResource())
	default:
		known = true
		if err := json.Unmarshal(columns, &had); err != nil {
			return nil, false, fmt.Errorf("relist_tables.columns: %w", err)
		}
	}
	if known && slices.EqualFunc(had, t.columns, column.equal) {
		return had, known, nil
	}
	now, err := json.Marshal(append([]column{}, t.columns...))
	if err != nil {
		return nil, false, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO `+db.name("relist_tables")+` (table_name, api_group, resource, columns) VALUES ($1, $2, $3, $4)
		ON CONFLICT (table_name) DO UPDATE SET columns = excluded.columns`, t.Name, t.Resource.Group, t.Resource.Resource, string(now))
	return had, known, err
}

// makeTable makes a table. If somebody has dropped one that was known, the rows that its states are
// about are gone, too.
func (db *DB) makeTable(ctx context.Context, tx pgx.Tx, t table, known bool) error {
	if err := db.run(ctx, tx, fmt.Sprintf(tableSQL, db.name(t.Name), db.compression)); err != nil || !known {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE `+db.name("relist_state")+` SET version = '', recorded = false WHERE table_name = $1`, t.Name)
	return err
}

// changeColumns gives a table the columns of t. They are plain columns, which a trigger sets: a
// generated column would make ALTER TABLE write the table again, and a transaction that had begun
// before would see no row in it. It does see the present columns, because a definition is not part
// of a snapshot. https://www.postgresql.org/docs/current/mvcc-caveats.html
func (db *DB) changeColumns(ctx context.Context, tx pgx.Tx, t table, name string, had []column, there bool) error {
	if !there {
		had = nil
	}
	var changes, sets, values, indexes []string
	for _, c := range had {
		if !slices.ContainsFunc(t.columns, c.equal) {
			changes = append(changes, "DROP COLUMN IF EXISTS "+pgx.Identifier{c.Name}.Sanitize())
		}
	}
	for _, c := range t.columns {
		if !slices.ContainsFunc(had, c.equal) {
			quoted := pgx.Identifier{c.Name}.Sanitize()
			changes = append(changes, fmt.Sprintf("ADD COLUMN %s text", quoted))
			sets = append(sets, quoted+" = "+c.sql("object"))
			values = append(values, c.sql("object"))
			indexes = append(indexes, fmt.Sprintf("CREATE INDEX ON %s (%s);", db.name(name), quoted))
		}
	}
	if len(changes) == 0 {
		return nil
	}
	sql := fmt.Sprintf("ALTER TABLE %s %s;", db.name(name), strings.Join(changes, ", "))
	if len(sets) > 0 {
		sql += fmt.Sprintf("UPDATE %s SET %s WHERE coalesce(%s) IS NOT NULL;", db.name(name), strings.Join(sets, ", "), strings.Join(values, ", "))
	}
	return db.run(ctx, tx, sql+db.triggerSQL(t, name)+strings.Join(indexes, " "))
}

// triggerSQL makes the trigger that sets the columns of t. It is not the statements of a Copy that
// do, because another program may change the columns while this one writes.
func (db *DB) triggerSQL(t table, name string) string {
	function := db.name(name + "_columns")
	sql := fmt.Sprintf("DROP FUNCTION IF EXISTS %s() CASCADE;", function)
	if len(t.columns) == 0 {
		return sql
	}
	var body strings.Builder
	for _, c := range t.columns {
		fmt.Fprintf(&body, "NEW.%s := %s; ", pgx.Identifier{c.Name}.Sanitize(), c.sql("NEW.object"))
	}
	return sql + fmt.Sprintf(`CREATE FUNCTION %[1]s() RETURNS trigger LANGUAGE plpgsql AS %[2]s;
		CREATE TRIGGER relist_columns BEFORE INSERT OR UPDATE OF object ON %[3]s FOR EACH ROW EXECUTE FUNCTION %[1]s();`,
		function, quote("BEGIN "+body.String()+"RETURN NEW; END"), db.name(name))
}
