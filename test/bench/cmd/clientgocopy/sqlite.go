package main

import (
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// table is a table as durable/sqlite makes it, in a file with the same settings.
type table struct{ conn *sqlite.Conn }

func openTable(path string) (table, error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		return table{}, err
	}
	for _, statement := range []string{
		"PRAGMA journal_mode = wal",
		"PRAGMA synchronous = NORMAL",
		"PRAGMA wal_autocheckpoint = 4000",
		"PRAGMA cache_size = -16000",
		`CREATE TABLE IF NOT EXISTS pods (cluster TEXT NOT NULL, key TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
			uid TEXT NOT NULL, resource_version TEXT NOT NULL, object TEXT NOT NULL, PRIMARY KEY (cluster, key))`,
	} {
		if err := sqlitex.ExecuteTransient(conn, statement, nil); err != nil {
			return table{}, err
		}
	}
	return table{conn}, nil
}

func (t table) begin() error  { return sqlitex.Execute(t.conn, "BEGIN IMMEDIATE", nil) }
func (t table) commit() error { return sqlitex.Execute(t.conn, "COMMIT", nil) }
func (t table) close() error  { return t.conn.Close() }

func (t table) put(r row) (bool, error) {
	stmt, err := t.conn.Prepare(`INSERT INTO pods (cluster, key, namespace, name, uid, resource_version, object) VALUES ('', ?, ?, ?, ?, ?, ?)
		ON CONFLICT (cluster, key) DO UPDATE SET uid = excluded.uid, resource_version = excluded.resource_version, object = excluded.object
		WHERE uid <> excluded.uid OR resource_version <> excluded.resource_version`)
	if err != nil {
		return false, err
	}
	for i, text := range []string{r.key, r.namespace, r.name, r.uid, r.version, r.object} {
		stmt.BindText(i+1, text)
	}
	_, err = stmt.Step()
	return t.conn.Changes() > 0, err
}

func (t table) remove(key string) (bool, error) {
	err := sqlitex.Execute(t.conn, `DELETE FROM pods WHERE cluster = '' AND key = ?`, &sqlitex.ExecOptions{Args: []any{key}})
	return t.conn.Changes() > 0, err
}

func (t table) keys() (keys []string, err error) {
	err = sqlitex.Execute(t.conn, `SELECT key FROM pods WHERE cluster = ''`, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		keys = append(keys, stmt.ColumnText(0))
		return nil
	}})
	return keys, err
}
