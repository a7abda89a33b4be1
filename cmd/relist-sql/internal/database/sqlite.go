package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	driver "zombiezen.com/go/sqlite"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/sqlite"
	"github.com/relist-go/relist/listwatch"
)

type sqliteDB struct{ db *sqlite.DB }

func openSQLite(p Place, opts Options) (DB, error) {
	db, err := sqlite.Open(p.File, sqlite.Options{Shared: opts.Shared})
	if errors.Is(err, sqlite.ErrLocked) {
		return nil, &worded{fmt.Sprintf("%s: another program writes to it: stop that program; or start both with --shared, if they write different copies", p), ErrLocked}
	}
	if err != nil {
		return nil, err
	}
	return &sqliteDB{db}, nil
}

func (d *sqliteDB) Copy(t durable.Table) (Copy, error) { return sqlite.New(d.db, t, bytesOf) }

func bytesOf(object *listwatch.Raw) ([]byte, error) { return object.Bytes(), nil }

func (*sqliteDB) Check(object []byte) error { return sqlite.Check(object) }

func (*sqliteDB) Lead(context.Context, func(context.Context) error, func(error)) error {
	return ErrNoStandby
}

func (d *sqliteDB) Close() error { return d.db.Close() }

type sqliteReader struct {
	conn  *sqlite.Reader
	place Place
}

func readSQLite(p Place) (Reader, error) {
	conn, err := sqlite.OpenReader(p.File)
	if err != nil {
		return nil, err
	}
	r := &sqliteReader{conn, p}
	if err := r.each("PRAGMA query_only = ON", nil); err != nil {
		_ = conn.Close() // err says what went wrong
		return nil, err
	}
	return r, nil
}

func (r *sqliteReader) Close() error { return r.conn.Close() }

// onlyThisFile refuses statements that open or make other files: ATTACH, and VACUUM INTO, which
// attaches what it makes.
type onlyThisFile struct{}

// Authorize implements [driver.Authorizer].
func (onlyThisFile) Authorize(action driver.Action) driver.AuthResult {
	if action.Type() == driver.OpAttach {
		return driver.AuthResultDeny
	}
	return driver.AuthResultOK
}

// Query implements [Reader].
func (r *sqliteReader) Query(ctx context.Context, statement string, begin func([]string) error, row func([]Cell) error) error {
	r.conn.SetInterrupt(ctx.Done())
	defer r.conn.SetInterrupt(nil)
	if err := r.conn.SetAuthorizer(onlyThisFile{}); err != nil {
		return err
	}
	stmt, trailing, err := r.conn.PrepareTransient(statement)
	if err != nil {
		return statementError(err)
	}
	defer func() { _ = stmt.Finalize() }() // repeats the error of the last Step
	if rest := strings.TrimSpace(statement[len(statement)-trailing:]); rest != "" {
		return &StatementError{Err: errOneStatement, Offset: strings.LastIndex(statement, rest)}
	}
	columns := make([]string, stmt.ColumnCount())
	for i := range columns {
		columns[i] = stmt.ColumnName(i)
	}
	if err := begin(columns); err != nil {
		return err
	}
	cells := make([]Cell, len(columns))
	for {
		more, err := stmt.Step()
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return statementError(err)
		}
		if !more {
			return nil
		}
		for i := range cells {
			cells[i] = sqliteCell(stmt, i)
		}
		if err := row(cells); err != nil {
			return err
		}
	}
}

var errOneStatement = errors.New("want one statement, and something follows it")

// driverWords is what the driver puts before the words of SQLite.
var driverWords = regexp.MustCompile(`^sqlite: (prepare|step): (\d+:\d+: )?(SQL logic error: )?`)

// statementError says what the database says about a statement.
func statementError(err error) error {
	offset, ok := driver.ErrorOffset(err)
	if !ok {
		offset = -1
	}
	text := driverWords.ReplaceAllString(err.Error(), "")
	switch driver.ErrCode(err).ToPrimary() {
	case driver.ResultReadOnly:
		text = "it only reads: " + text
	case driver.ResultAuth:
		text = "it opens and makes no other file: " + text
	default:
	}
	return &StatementError{Err: &worded{text, err}, Offset: offset}
}

// worded is an error in other words.
type worded struct {
	text string
	err  error
}

func (e *worded) Error() string { return e.text }

func (e *worded) Unwrap() error { return e.err }

func sqliteCell(stmt *driver.Stmt, i int) Cell {
	switch stmt.ColumnType(i) {
	case driver.TypeNull:
		return Cell{}
	case driver.TypeInteger:
		return Cell{Number, strconv.FormatInt(stmt.ColumnInt64(i), 10)}
	case driver.TypeFloat:
		return number(strconv.FormatFloat(stmt.ColumnFloat(i), 'g', -1, 64))
	case driver.TypeBlob:
		blob := make([]byte, stmt.ColumnLen(i))
		stmt.ColumnBytes(i, blob)
		return Cell{Text, fmt.Sprintf("\\x%x", blob)} // as PostgreSQL writes it
	default:
		return Cell{Text, stmt.ColumnText(i)}
	}
}

// number is a Number if JSON has such a one, and otherwise a text, such as Inf.
func number(text string) Cell {
	if json.Unmarshal([]byte(text), new(float64)) != nil {
		return Cell{Text, text}
	}
	return Cell{Number, text}
}

// each runs a statement of this package.
func (r *sqliteReader) each(query string, row func(*driver.Stmt), args ...string) error {
	stmt, err := r.conn.Prepare(query)
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Reset() }() // repeats the error of the last Step
	for i, arg := range args {
		stmt.BindText(i+1, arg)
	}
	for {
		more, err := stmt.Step()
		if err != nil || !more {
			return err
		}
		row(stmt)
	}
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Streams implements [Reader].
func (r *sqliteReader) Streams(ctx context.Context) (streams []Stream, err error) {
	r.conn.SetInterrupt(ctx.Done())
	defer r.conn.SetInterrupt(nil)
	if err := r.each("BEGIN", nil); err != nil {
		return nil, err
	}
	defer func() { _ = r.each("ROLLBACK", nil) }() // of a transaction that has written nothing
	made := false
	if err := r.each("SELECT 1 FROM sqlite_schema WHERE name = 'relist_state'", func(*driver.Stmt) { made = true }); err != nil {
		return nil, err
	}
	if !made { // the file is empty: OpenReader takes no other one without tables
		return nil, fmt.Errorf("%s has no copies yet: relist-sql mirror makes them", r.place)
	}
	var bad error
	err = r.each(`SELECT table_name, cluster, epoch, version, current_at, committed, state,
			(SELECT count(*) FROM sqlite_schema WHERE name = table_name || '_history'),
			(SELECT count(*) FROM relist_gaps g WHERE g.table_name = s.table_name AND g.cluster = s.cluster), NOT recorded,
			(SELECT count(*) FROM relist_gaps g WHERE g.table_name = s.table_name AND g.cluster = s.cluster AND g.kind = 'list')
		FROM relist_state s ORDER BY table_name, cluster`, func(s *driver.Stmt) {
		one := Stream{Table: s.ColumnText(0), Label: s.ColumnText(1), History: s.ColumnInt(7) > 0, Gaps: s.ColumnInt64(8), Off: s.ColumnBool(9), Lists: s.ColumnInt64(10)}
		if err := json.Unmarshal([]byte(s.ColumnText(6)), &one.State); err != nil {
			bad = fmt.Errorf("relist_state.state of %s: %w", one.Table, err)
		}
		one.State.Epoch, one.State.Point.Version = s.ColumnInt64(2), s.ColumnText(3)
		for i, at := range []*time.Time{&one.CurrentAt, &one.Committed} {
			if text := s.ColumnText(4 + i); text != "" {
				parsed, err := time.Parse(time.RFC3339Nano, text)
				if err != nil {
					bad = fmt.Errorf("relist_state of %s: %w", one.Table, err)
				}
				*at = parsed
			}
		}
		streams = append(streams, one)
	})
	err = cmp.Or(err, bad)
	for i := range streams {
		if err != nil {
			return nil, err
		}
		count := "SELECT count(*) FROM " + quote(streams[i].Table) + " WHERE cluster = ?"
		err = r.each(count, func(s *driver.Stmt) { streams[i].Rows = s.ColumnInt64(0) }, streams[i].Label)
	}
	return streams, err
}
