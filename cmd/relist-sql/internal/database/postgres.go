package database

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/postgres"
)

// describe names a database of PostgreSQL without the password of its URL.
func describe(p Place) string {
	config, err := postgres.ParseURL(p.url)
	if err != nil {
		return "postgres://?"
	}
	return fmt.Sprintf("postgres://%s:%d/%s, schema %s", config.Host, config.Port, config.Database, p.Schema)
}

type postgresDB struct{ db *postgres.DB }

func openPostgres(ctx context.Context, p Place) (DB, error) {
	db, err := postgres.Open(ctx, p.url, postgres.Options{Schema: p.Schema})
	if err != nil {
		return nil, err
	}
	return &postgresDB{db}, nil
}

func (d *postgresDB) Copy(t durable.Table) (Copy, error) { return postgres.New(d.db, t, bytesOf) }

func (*postgresDB) Check(object []byte) error { return postgres.Check(object) }

// leadPause is the pause before a new try to lead, when the database is away.
const leadPause = time.Second

// Lead implements [DB].
func (d *postgresDB) Lead(ctx context.Context, run func(context.Context) error, lost func(error)) error {
	ever, told := false, false
	for {
		led := false
		err := d.db.Lead(ctx, func(ctx context.Context) error {
			ever, led, told = true, true, false
			return run(ctx)
		})
		if ctx.Err() != nil || !ever || led && !errors.Is(err, postgres.ErrLeadLost) {
			return err
		}
		if !told {
			told = true
			lost(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(leadPause):
		}
	}
}

func (d *postgresDB) Close() error { return d.db.Close() }

type postgresReader struct {
	conn   *pgx.Conn
	schema string
}

func readPostgres(ctx context.Context, p Place) (Reader, error) {
	config, err := postgres.ParseURL(p.url)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	config.RuntimeParams["default_transaction_read_only"] = "on"
	config.RuntimeParams["application_name"] = "relist-sql query"
	config.RuntimeParams["search_path"] = pgx.Identifier{p.Schema}.Sanitize() + ", public"
	conn, err := postgres.Connect(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return &postgresReader{conn, p.Schema}, nil
}

func (r *postgresReader) Close() error { return r.conn.Close(context.Background()) }

// Query implements [Reader]. Values come as text, as psql shows them.
func (r *postgresReader) Query(ctx context.Context, statement string, begin func([]string) error, row func([]Cell) error) error {
	// A DO block could end a transaction that it has begun, and begin one that writes. It cannot
	// end this one.
	tx, err := r.conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // of a transaction that has written nothing
	// A statement that is prepared first can only be one.
	described, err := r.conn.Prepare(ctx, "", statement)
	if err != nil {
		_ = tx.Rollback(ctx) // the error has ended it
		return r.rights(ctx, err, postgresStatementError(statement, err))
	}
	if len(described.ParamOIDs) > 0 {
		return &StatementError{Err: errors.New("a statement here has no parameters such as $1"), Offset: -1}
	}
	columns := make([]string, len(described.Fields))
	for i, f := range described.Fields {
		columns[i] = f.Name
	}
	if err := begin(columns); err != nil {
		return err
	}
	result := r.conn.PgConn().ExecPrepared(ctx, "", nil, nil, nil)
	cells := make([]Cell, len(columns))
	for result.NextRow() {
		for i, value := range result.Values() {
			cells[i] = postgresCell(value, described.Fields[i].DataTypeOID)
		}
		if err := row(cells); err != nil {
			_, _ = result.Close() // err says what went wrong
			return err
		}
	}
	if _, err := result.Close(); err != nil {
		_ = tx.Rollback(ctx) // the error has ended it
		return r.rights(ctx, err, postgresStatementError(statement, err))
	}
	return nil
}

// rights returns told, which says what err says. If the role may not use the schema, it adds that,
// and what to do: PostgreSQL looks for tables elsewhere then, and does not find them. There must be
// no transaction.
func (r *postgresReader) rights(ctx context.Context, err, told error) error {
	var from *pgconn.PgError
	if !errors.As(err, &from) || from.Code != "42P01" && from.Code != "42501" { // undefined_table, insufficient_privilege
		return told
	}
	role, use := "", true
	asked := r.conn.QueryRow(ctx, `SELECT current_user, has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = $1`, r.schema).Scan(&role, &use)
	if asked != nil || use {
		return told // also if there is no such schema
	}
	schema, to := pgx.Identifier{r.schema}.Sanitize(), pgx.Identifier{role}.Sanitize()
	return &worded{fmt.Sprintf("%v: the role %s may not use the schema %s; its owner writes GRANT USAGE ON SCHEMA %s TO %s; GRANT SELECT ON ALL TABLES IN SCHEMA %s TO %s",
		told, role, r.schema, schema, to, schema, to), err} // and not where in the statement: that may be right
}

// postgresStatementError says where an error is. PostgreSQL counts characters.
func postgresStatementError(statement string, err error) error {
	var from *pgconn.PgError
	if !errors.As(err, &from) {
		return err
	}
	text := from.Message
	if from.Hint != "" {
		text += " (" + from.Hint + ")"
	}
	if from.Code == "25006" { // read_only_sql_transaction
		text = "it only reads: " + text
	}
	offset := -1
	if from.Position > 0 {
		offset = 0
		for range from.Position - 1 {
			_, size := utf8.DecodeRuneInString(statement[offset:])
			offset += size
		}
	}
	return &StatementError{Err: &worded{fmt.Sprintf("%s (SQLSTATE %s)", text, from.Code), err}, Offset: offset}
}

func postgresCell(value []byte, oid uint32) Cell {
	if value == nil {
		return Cell{}
	}
	text := string(value)
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID:
		return number(text)
	case pgtype.BoolOID:
		return Cell{Bool, strconv.FormatBool(text == "t")}
	case pgtype.JSONOID, pgtype.JSONBOID:
		return Cell{JSON, text}
	}
	return Cell{Text, text}
}

// Streams implements [Reader].
func (r *postgresReader) Streams(ctx context.Context) (streams []Stream, err error) {
	tx, err := r.conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback(ctx) }() // of a transaction that has written nothing
	name := func(table string) string { return pgx.Identifier{r.schema, table}.Sanitize() }
	rows, err := tx.Query(ctx, strings.NewReplacer("$S", name("relist_state"), "$G", name("relist_gaps")).Replace(`
		SELECT s.table_name, s.cluster, s.epoch, s.version, s.current_at, s.committed, s.state::text,
			to_regclass(quote_ident($1) || '.' || quote_ident(s.table_name || '_history')) IS NOT NULL, NOT s.recorded,
			(SELECT count(*) FROM $G g WHERE g.table_name = s.table_name AND g.cluster = s.cluster),
			(SELECT count(*) FROM $G g WHERE g.table_name = s.table_name AND g.cluster = s.cluster AND g.kind = 'list')
		FROM $S s ORDER BY s.table_name COLLATE "C", s.cluster COLLATE "C"`), r.schema)
	if err != nil {
		return nil, r.explain(ctx, tx, err)
	}
	var one Stream
	var state []byte
	var epoch int64
	var version string
	_, err = pgx.ForEachRow(rows, []any{&one.Table, &one.Label, &epoch, &version, &one.CurrentAt, &one.Committed, &state, &one.History, &one.Off, &one.Gaps, &one.Lists}, func() error {
		if err := json.Unmarshal(state, &one.State); err != nil {
			return fmt.Errorf("relist_state.state of %s: %w", one.Table, err)
		}
		one.State.Epoch, one.State.Point.Version = epoch, version
		streams = append(streams, one)
		one.State = durable.State{}
		return nil
	})
	if err != nil {
		return nil, r.explain(ctx, tx, err)
	}
	for i := range streams {
		if err := tx.QueryRow(ctx, `SELECT count(*) FROM `+name(streams[i].Table)+` WHERE cluster = $1`, streams[i].Label).Scan(&streams[i].Rows); err != nil {
			return nil, r.explain(ctx, tx, err)
		}
	}
	return streams, nil
}

func (r *postgresReader) explain(ctx context.Context, tx pgx.Tx, err error) error {
	_ = tx.Rollback(ctx) // the error has ended it
	var from *pgconn.PgError
	if errors.As(err, &from) && (from.Code == "42P01" || from.Code == "3F000") { // undefined_table, invalid_schema_name
		return fmt.Errorf("the schema %s has no copies: relist-sql mirror makes them; another schema is named with --schema", r.schema)
	}
	return r.rights(ctx, err, err)
}
