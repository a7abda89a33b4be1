package main

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// postgresTable is a table as durable/postgres makes it. The upserts of a transaction are sent
// together.
type postgresTable struct {
	ctx   context.Context //nolint:containedctx // of the program
	conn  *pgx.Conn
	batch *pgx.Batch
}

func openPostgres(ctx context.Context, url string) (table, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{
		"SET synchronous_commit = off",
		`CREATE TABLE IF NOT EXISTS pods (cluster text NOT NULL, key text COLLATE "C" NOT NULL, namespace text NOT NULL, name text NOT NULL,
			uid text NOT NULL, resource_version text NOT NULL, object jsonb COMPRESSION lz4 NOT NULL, PRIMARY KEY (cluster, key))`,
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return nil, err
		}
	}
	return &postgresTable{ctx: ctx, conn: conn}, nil
}

func (t *postgresTable) begin() error {
	t.batch = &pgx.Batch{}
	t.batch.Queue("BEGIN")
	return nil
}

func (t *postgresTable) commit() error {
	t.batch.Queue("COMMIT")
	return t.conn.SendBatch(t.ctx, t.batch).Close()
}

func (t *postgresTable) close() error { return t.conn.Close(context.Background()) }

func (t *postgresTable) put(r row) (bool, error) {
	t.batch.Queue(`INSERT INTO pods (cluster, key, namespace, name, uid, resource_version, object) VALUES ('', $1, $2, $3, $4, $5, $6)
		ON CONFLICT (cluster, key) DO UPDATE SET uid = excluded.uid, resource_version = excluded.resource_version, object = excluded.object
		WHERE pods.uid <> excluded.uid OR pods.resource_version <> excluded.resource_version`, r.key, r.namespace, r.name, r.uid, r.version, []byte(r.object))
	return true, nil
}

func (t *postgresTable) remove(key string) (bool, error) {
	t.batch.Queue(`DELETE FROM pods WHERE cluster = '' AND key = $1`, key)
	return true, nil
}

func (t *postgresTable) keys() ([]string, error) {
	// Before this, the upserts must be sent.
	if err := t.commit(); err != nil {
		return nil, err
	}
	if err := t.begin(); err != nil {
		return nil, err
	}
	rows, err := t.conn.Query(t.ctx, `SELECT key FROM pods WHERE cluster = ''`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
