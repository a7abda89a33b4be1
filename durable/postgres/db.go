package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/relist-go/relist/durable"
)

// Options are what all copies of a [DB] have in common.
type Options struct {
	// Schema is the name of the PostgreSQL schema that has the tables. Open creates it if it is not
	// there. If empty, "relist" is used.
	Schema string

	// Timeout is how long one call of a Copy may wait for the database. Then it ends with an error,
	// and the connection is closed. What may have to write all rows has no timeout: other columns,
	// and a history that continues after a time without one. If zero, a minute is used. If
	// negative, there is none.
	Timeout time.Duration
}

// DB is a schema of a database with copies in it. Its methods may be called from several
// goroutines. It has no connection: each [Copy] has one of its own.
type DB struct {
	config      *pgx.ConnConfig
	opts        Options
	compression string // of objects in new tables: lz4, or pglz, which needs several times the CPU for each write, if the server has no lz4

	mu     sync.Mutex
	closed bool
	copies map[closer]durable.Table
}

// closer is what a DB knows of its copies.
type closer interface{ close() error }

// Open connects to a database, and creates the schema and the tables that all copies share, or
// brings those of an earlier version up to date. The connection is closed again.
//
// url is that of libpq: postgres://user:password@host:5432/database?sslmode=verify-full, or
// "host=... dbname=...". A setting of the server in it, such as statement_timeout, is set in each
// session. Timeouts that the role or the database has are not used. No error shows the password.
//
// The role needs the right CREATE on the database. Without it, somebody else creates the schema,
// and gives the role CREATE and USAGE on that.
func Open(ctx context.Context, url string, opts Options) (*DB, error) {
	opts.Schema, opts.Timeout = cmp.Or(opts.Schema, "relist"), cmp.Or(opts.Timeout, time.Minute)
	db := &DB{opts: opts, copies: map[closer]durable.Table{}}
	if err := rules.CheckName(db.opts.Schema); err != nil {
		return nil, fmt.Errorf("postgres: Options.Schema %q: %w", db.opts.Schema, err)
	}
	config, err := configOf(url)
	if err != nil {
		return nil, db.wrap("open", err)
	}
	db.config = config

	timed, cancel := db.timed(ctx)
	defer cancel()
	conn, err := db.connect(timed)
	if err != nil {
		return nil, db.wrap("open", err)
	}
	defer closeConn(ctx, conn)
	if err := db.checkServer(timed, conn); err != nil {
		return nil, db.wrap("open", err)
	}
	if err := db.alone(ctx, conn, func(tx pgx.Tx) error { return db.migrate(ctx, tx) }); err != nil {
		return nil, db.wrap("open", err)
	}
	return db, nil
}

// Close closes every Copy of the DB.
func (db *DB) Close() error {
	db.mu.Lock()
	copies := db.copies
	db.copies, db.closed = map[closer]durable.Table{}, true
	db.mu.Unlock()
	var errs []error
	for c := range copies {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

// forget is what a Copy calls when it was closed alone.
func (db *DB) forget(c closer) {
	db.mu.Lock()
	defer db.mu.Unlock()
	delete(db.copies, c)
}

// session has the settings of each session.
//
// Commits: without synchronous_commit, a crash of the database can lose the last commits, in their
// order. Then rows and version are both older than they were, they fit together, and the reflector
// reads the difference again.
//
// Planning: each statement of a Copy finds its rows by key. A plan made while the table was new and
// empty would read the whole table instead, and is kept until the statistics are renewed.
//
// Text: a role or a database can have settings by which the server reads the same bytes as other
// text.
//
// Times: a program that is paused or cut off in a transaction holds the state's row. The server
// ends such a session, so that another program can go on. The list that a transaction waits for may
// take some minutes. Other limits, which a role or a database may have for those who write queries,
// are lifted: Options.Timeout bounds each call, and a list that the server ends each time would
// never be written.
func (db *DB) session() map[string]string {
	settings := map[string]string{
		"synchronous_commit":                  "off",
		"search_path":                         "pg_catalog",
		"client_encoding":                     "UTF8",
		"standard_conforming_strings":         "on",
		"jit":                                 "off",
		"plan_cache_mode":                     "force_generic_plan",
		"idle_in_transaction_session_timeout": "5min",
		"idle_session_timeout":                "0",
		"lock_timeout":                        "0",
		"statement_timeout":                   "0",
		"tcp_keepalives_idle":                 "10",
		"tcp_keepalives_interval":             "5",
		"tcp_keepalives_count":                "3",
	}
	for _, name := range wholeTables {
		settings[name] = "off"
	}
	return settings
}

// wholeTables are what a plan can do with whole tables.
var wholeTables = []string{"enable_seqscan", "enable_hashjoin", "enable_mergejoin"}

// fixed are the settings that the URL cannot change: statements mean something else with others.
var fixed = []string{"search_path", "client_encoding", "standard_conforming_strings"}

// sinceVersion17 is a limit that older servers do not have.
const sinceVersion17 = "transaction_timeout"

// connect returns a new connection with the settings of a session.
func (db *DB) connect(ctx context.Context) (*pgx.Conn, error) {
	config := db.config.Copy()
	settings := db.session()
	for name := range settings {
		// A pooler refuses settings that it does not know in the first message, so they follow in
		// statements.
		if value, ok := config.RuntimeParams[name]; ok && !slices.Contains(fixed, name) {
			settings[name] = value
		}
		delete(config.RuntimeParams, name)
	}
	conn, err := Connect(ctx, config)
	if err != nil {
		return nil, err
	}
	var set strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&set, "SET %s = %s;", name, quote(settings[name]))
	}
	if _, ok := config.RuntimeParams[sinceVersion17]; !ok {
		fmt.Fprintf(&set, "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = '%s'", sinceVersion17)
	}
	if _, err := conn.PgConn().Exec(ctx, set.String()).ReadAll(); err != nil {
		closeConn(ctx, conn)
		return nil, fmt.Errorf("settings of the session: %w", err)
	}
	return conn, nil
}

var errReadOnly = errors.New("the server is a standby, or its sessions only read: connect to the primary")

// checkServer refuses a server that cannot have copies.
func (db *DB) checkServer(ctx context.Context, conn *pgx.Conn) error {
	var number int
	var version, encoding string
	var lz4, readOnly bool
	row := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_version'), current_setting('server_encoding'),
		current_setting('transaction_read_only')::bool,
		EXISTS (SELECT FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY(enumvals))`)
	if err := row.Scan(&number, &version, &encoding, &readOnly, &lz4); err != nil {
		return err
	}
	if number < 140000 {
		return fmt.Errorf("the server is PostgreSQL %s; 14 or newer is needed", version)
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the encoding of the database is %s; UTF8 is needed (CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0)", encoding)
	}
	if readOnly {
		return errReadOnly
	}
	db.compression = "pglz"
	if lz4 {
		db.compression = "lz4"
	}
	return nil
}

// timed bounds one call.
func (db *DB) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	if db.opts.Timeout < 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, db.opts.Timeout, fmt.Errorf("the database has not answered within %v", db.opts.Timeout))
}

// name returns the full name of a table, quoted.
func (db *DB) name(table string) string { return pgx.Identifier{db.opts.Schema, table}.Sanitize() }

// wrap says what was done, and what the role lacks if that is so.
func (db *DB) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return wrap(fmt.Sprintf("postgres: %s schema %s", what, db.opts.Schema), err)
}

func wrap(what string, err error) error {
	var from *pgconn.PgError
	switch {
	case !errors.As(err, &from):
		return fmt.Errorf("%s: %w", what, err)
	case from.Code == "42501": // insufficient_privilege
		return fmt.Errorf("%s: %w (the role needs the rights CREATE and USAGE on the schema, and must own its tables)", what, err)
	case from.Code == "25006": // read_only_sql_transaction
		return fmt.Errorf("%s: %w (%w)", what, err, errReadOnly)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// closeConn closes a connection, also if ctx has ended, and does not wait long for the server to
// notice.
func closeConn(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // the server ends the session when the connection ends, told or not
}

// quote returns a string literal.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
