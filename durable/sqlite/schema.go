package sqlite

import (
	"fmt"

	driver "zombiezen.com/go/sqlite"
)

// applicationID marks a file as one of this package: "rlst".
// https://www.sqlite.org/pragma.html#pragma_application_id
const applicationID = 0x726c7374

// sharedTable is a table that all copies of a file share, as the first migration makes it. The
// columns of a resource's own table are in table.go.
type sharedTable struct{ name, definition string }

var sharedTables = []sharedTable{
	// One row for each table of a resource.
	{"relist_tables", `(
		table_name TEXT NOT NULL PRIMARY KEY,
		api_group  TEXT NOT NULL,
		resource   TEXT NOT NULL,
		columns    TEXT NOT NULL -- JSON: the columns that the program has named, and their paths
	) WITHOUT ROWID`},
	// One row for each copy, made by its first transaction.
	{"relist_state", `(
		table_name TEXT NOT NULL,
		cluster    TEXT NOT NULL,
		epoch      INTEGER NOT NULL,
		version    TEXT NOT NULL, -- the rows equal the server at this resourceVersion; empty: a list is not whole, or nobody knows whether the server is the same
		current_at TEXT NOT NULL, -- when version was written
		committed  TEXT NOT NULL, -- the last commit
		state      TEXT NOT NULL, -- JSON: all of durable.State
		recorded   INTEGER NOT NULL, -- 1 if the last commit wrote the history, too
		recorded_version TEXT NOT NULL, -- version and current_at of the last commit that did
		recorded_at      TEXT NOT NULL,
		PRIMARY KEY (table_name, cluster)
	) WITHOUT ROWID`},
	// What the history does not know. Copies without a history write nothing here.
	{"relist_gaps", `(
		table_name TEXT NOT NULL,
		cluster    TEXT NOT NULL,
		kind       TEXT NOT NULL, -- list, pause, off
		from_version TEXT NOT NULL,
		to_version   TEXT,          -- NULL: not over yet
		from_time    TEXT NOT NULL, -- empty: the history begins with this gap
		to_time      TEXT
	)`},
}

// migrations lead from one version of the schema to the next. PRAGMA user_version says how many of
// them a file has had. A migration is never changed after a release: a new one is added. If
// somebody has dropped a table, all of them run again, so they leave alone what is there. Tables of
// resources come and go with [New].
var migrations = [][]string{
	append(createShared(), `CREATE INDEX IF NOT EXISTS "relist_gaps.time" ON relist_gaps (table_name, cluster, to_time)`),
}

func createShared() (statements []string) {
	for _, t := range sharedTables {
		statements = append(statements, "CREATE TABLE IF NOT EXISTS "+t.name+" "+t.definition)
	}
	return statements
}

// hasShared reports whether the tables that all copies share are there: somebody may have dropped
// one.
func hasShared(conn *driver.Conn) (bool, error) {
	for _, t := range sharedTables {
		var n int64
		if err := exec(conn, "SELECT count(*) FROM sqlite_schema WHERE name = ?", number(&n), t.name); err != nil || n == 0 {
			return false, err
		}
	}
	return true, nil
}

// checkFile returns an error if the file is not one of this package, and changes nothing.
func checkFile(conn *driver.Conn) error {
	var id, version, tables int64
	if err := exec(conn, "PRAGMA application_id", number(&id)); err != nil {
		return err
	}
	if err := exec(conn, "PRAGMA user_version", number(&version)); err != nil {
		return err
	}
	if err := exec(conn, "SELECT count(*) FROM sqlite_schema", number(&tables)); err != nil {
		return err
	}
	switch {
	case id == 0 && version == 0 && tables == 0:
		return nil // a new file
	case id != applicationID:
		return fmt.Errorf("it is a database of another program (application_id %d, user_version %d, %d tables and indexes), and stays as it is: name another file", id, version, tables)
	case version > int64(len(migrations)):
		return fmt.Errorf("a newer version of relist has made it (its schema is %d, the newest known here is %d), and it stays as it is: use that version, or name another file", version, len(migrations))
	}
	return nil
}

// migrate makes the schema what this version of the package needs, in one transaction.
func (db *DB) migrate(conn *driver.Conn) error {
	version := int64(0)
	if err := exec(conn, "PRAGMA user_version", number(&version)); err != nil {
		return err
	}
	shared, err := hasShared(conn)
	if err != nil || shared && version == int64(len(migrations)) {
		return err
	}
	return immediate(conn, func() error {
		// Another connection may have been faster, and have made something else of an empty file.
		if err := checkFile(conn); err != nil {
			return err
		}
		if err := exec(conn, "PRAGMA user_version", number(&version)); err != nil {
			return err
		}
		if !shared {
			version = 0
		}
		for _, migration := range migrations[version:] {
			for _, statement := range migration {
				if err := exec(conn, statement, nil); err != nil {
					return err
				}
			}
		}
		if err := exec(conn, fmt.Sprintf("PRAGMA application_id = %d", applicationID), nil); err != nil {
			return err
		}
		return exec(conn, fmt.Sprintf("PRAGMA user_version = %d", len(migrations)), nil)
	})
}

// immediate runs f in a transaction of its own.
func immediate(conn *driver.Conn, f func() error) error {
	if err := exec(conn, "BEGIN IMMEDIATE", nil); err != nil {
		return err
	}
	err := f()
	if err == nil {
		err = exec(conn, "COMMIT", nil)
	}
	if err != nil {
		rollback(conn)
	}
	return err
}

// rollback ends a transaction if there is one. It cannot fail in a way that matters: a connection
// that keeps its transaction is closed.
func rollback(conn *driver.Conn) {
	conn.SetInterrupt(nil)
	if !conn.AutocommitEnabled() {
		_ = exec(conn, "ROLLBACK", nil)
	}
}
