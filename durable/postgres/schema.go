package postgres

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// layouts are the steps from each layout of the shared tables to the next. The table relist_meta
// says how many of them a schema has had. A step is never changed after a release: a new one
// follows it. If somebody has dropped one of the tables, all steps are taken again, so they leave
// alone what is there. %[1]s is the quoted name of the schema.
//
// relist_state keeps the state as json, not jsonb: the key of an unsure key is what a server has
// sent, and jsonb does not take all of it. Its rows are changed twice in each transaction, so a
// page keeps room for newer versions of them.
var layouts = []string{
	`
	CREATE TABLE %[2]s %[1]s.relist_tables (
		table_name text PRIMARY KEY,
		api_group text NOT NULL,
		resource text NOT NULL,
		columns json NOT NULL
	);
	CREATE TABLE %[2]s %[1]s.relist_state (
		table_name text NOT NULL,
		cluster text NOT NULL,
		epoch bigint NOT NULL,
		version text NOT NULL,
		current_at timestamptz NOT NULL,
		committed timestamptz NOT NULL,
		state json NOT NULL,
		recorded boolean NOT NULL,
		recorded_version text NOT NULL,
		recorded_at timestamptz,
		PRIMARY KEY (table_name, cluster)
	) WITH (fillfactor = 20);
	CREATE TABLE %[2]s %[1]s.relist_gaps (
		table_name text NOT NULL,
		cluster text NOT NULL,
		kind text NOT NULL,
		from_version text NOT NULL,
		to_version text,
		from_time timestamptz,
		to_time timestamptz
	);
	CREATE INDEX %[2]s relist_gaps_table_name_cluster_to_time_idx ON %[1]s.relist_gaps (table_name, cluster, to_time);
	COMMENT ON TABLE %[1]s.relist_tables IS 'relist: what each table is of, and the columns that the program has named';
	COMMENT ON TABLE %[1]s.relist_state IS 'relist: the rows of table_name and cluster equal the server at this version; empty while a list is not whole';
	COMMENT ON TABLE %[1]s.relist_gaps IS 'relist: what the history does not know; to_time is NULL while a gap lasts, from_time if the history begins with it'`,
}

// sharedTables are those of layouts.
var sharedTables = []string{"relist_tables", "relist_state", "relist_gaps"}

// migrate creates the schema and its shared tables, or brings them up to date, or makes those again
// that somebody has dropped.
func (db *DB) migrate(ctx context.Context, tx pgx.Tx) error {
	schema := pgx.Identifier{db.opts.Schema}.Sanitize()
	var exists bool
	var missing int
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1), cardinality($2::text[]) -
		(SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = ANY($2::text[]))`,
		db.opts.Schema, sharedTables).Scan(&exists, &missing); err != nil {
		return err
	}
	if !exists {
		if err := db.run(ctx, tx, "CREATE SCHEMA "+schema); err != nil {
			return err
		}
	}
	known, err := db.exists(ctx, tx, "relist_meta")
	if err != nil {
		return err
	}
	ifNeeded := "IF NOT EXISTS"
	if !known {
		ifNeeded = "" // a table that is there is somebody else's
		if err := db.run(ctx, tx, fmt.Sprintf(`CREATE TABLE %s.relist_meta (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);
			INSERT INTO %[1]s.relist_meta VALUES ('layout', '0')`, schema)); err != nil {
			return err
		}
	}
	layout, err := db.layout(ctx, tx)
	if err != nil || layout == len(layouts) && missing == 0 {
		return err
	}
	if missing > 0 {
		layout = 0
	}
	for ; layout < len(layouts); layout++ {
		if err := db.run(ctx, tx, fmt.Sprintf(layouts[layout], schema, ifNeeded)); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, fmt.Sprintf(`UPDATE %s.relist_meta SET value = $1 WHERE name = 'layout'`, schema), strconv.Itoa(layout))
	return err
}

var errNotOurs = errors.New("relist has not made it; choose another name, or another schema")

// layout returns how many steps the schema has behind it.
func (db *DB) layout(ctx context.Context, tx pgx.Tx) (int, error) {
	var value string
	err := tx.QueryRow(ctx, `SELECT value FROM `+db.name("relist_meta")+` WHERE name = 'layout'`).Scan(&value)
	var from *pgconn.PgError
	switch {
	case errors.Is(err, pgx.ErrNoRows), errors.As(err, &from) && from.Code == "42703": // undefined_column
		return 0, fmt.Errorf("the table relist_meta: %w", errNotOurs)
	case err != nil:
		return 0, err
	}
	layout, err := strconv.Atoi(value)
	if err != nil {
		return 0, fmt.Errorf("the table relist_meta: layout is %q: %w", value, errNotOurs)
	}
	if layout > len(layouts) {
		return 0, fmt.Errorf("its tables are of layout %d, made by a newer version of relist; this version knows layouts up to %d", layout, len(layouts))
	}
	return layout, nil
}

// alone calls f in a transaction, and in no two programs at once for a schema.
func (db *DB) alone(ctx context.Context, conn *pgx.Conn, f func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, lockNumber("layout", db.opts.Schema)); err != nil {
			return err
		}
		return f(tx)
	})
}

// exists reports whether the schema has a table, a view or another relation of a name.
func (db *DB) exists(ctx context.Context, tx pgx.Tx, table string) (bool, error) {
	var there bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2)`,
		db.opts.Schema, table).Scan(&there)
	return there, err
}

// run runs statements that have no arguments.
func (db *DB) run(ctx context.Context, tx pgx.Tx, sql string) error {
	_, err := tx.Conn().PgConn().Exec(ctx, sql).ReadAll()
	return err
}

// lockNumber returns the number of an advisory lock. All locks of a database have numbers in one
// space, so those of relist are hashes, which other programs hardly use.
func lockNumber(what, schema string) int64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "relist %s %s", what, schema) // a hash returns no error
	return int64(h.Sum64())
}
