// Package database is the databases that relist-sql keeps copies in, and reads: a file of SQLite,
// or a schema of PostgreSQL.
//
// Begin with Parse. Open is for writing, and Read for reading.
package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/listwatch"
)

// Place is where a database is. It comes from the command line.
type Place struct {
	File   string // of SQLite; empty: PostgreSQL
	url    string // of PostgreSQL. It may have a password, so it is never shown
	Schema string // of PostgreSQL
}

// DefaultSchema is the schema of PostgreSQL that has the tables.
const DefaultSchema = "relist"

// Parse reads sqlite:FILE, postgres://... or postgresql://.... If bare is true, any other text is a
// file of SQLite, too.
func Parse(text string, bare bool) (Place, error) {
	want := "sqlite:FILE or postgres://USER@HOST/DATABASE"
	if bare {
		want = "a file of SQLite or postgres://USER@HOST/DATABASE"
	}
	scheme, rest, found := strings.Cut(text, ":")
	switch {
	case strings.HasPrefix(text, "postgres://"), strings.HasPrefix(text, "postgresql://"):
		return Place{url: text, Schema: DefaultSchema}, nil
	case strings.Contains(text, "://") && strings.Contains(text, "@"), strings.Contains(text, "password="):
		return Place{}, fmt.Errorf("want %s (what was given is not shown, because it may contain a password)", want)
	case found && scheme == "sqlite" && rest != "":
		return Place{File: rest}, nil
	case bare && text != "" && !strings.HasPrefix(text, "sqlite:"):
		return Place{File: text}, nil
	}
	return Place{}, fmt.Errorf("%q: want %s", text, want)
}

// String names the place in messages, without a password.
func (p Place) String() string {
	if p.File != "" {
		return "sqlite:" + p.File
	}
	return describe(p)
}

// Copy is where the rows of one resource go.
type Copy interface {
	durable.Copy[*listwatch.Raw]
	Close() error
}

// DB is a database that is open for writing.
type DB interface {
	// Copy returns a copy in a table.
	Copy(t durable.Table) (Copy, error)

	// Check returns an error if the database cannot store an object.
	Check(object []byte) error

	// Lead calls run when no other program leads. If that is over because the database is away, it
	// tells lost, and tries again: another program may lead then, and when that ends, run is called
	// again. PostgreSQL only.
	Lead(ctx context.Context, run func(context.Context) error, lost func(error)) error

	Close() error
}

// Options are what all copies of a DB have in common.
type Options struct {
	Shared bool // SQLite: other processes that are shared may write other copies to the file
}

// ErrNoStandby is what Lead returns if the database has no lock for that.
var ErrNoStandby = errors.New("a file of SQLite has no standby: a second program on another machine cannot reach it")

// ErrLocked is the error of Open if another program writes to the database, and no second one may.
var ErrLocked = errors.New("another program writes to the database")

// Open opens a database for writing, and makes it if it is not there.
func Open(ctx context.Context, p Place, opts Options) (DB, error) {
	if p.File != "" {
		return openSQLite(p, opts) //nolint:contextcheck // a file is opened at once
	}
	return openPostgres(ctx, p)
}

// Stream is one copy as its reader sees it.
type Stream struct {
	Table     string
	Label     string // of the cluster, as the column cluster has it
	State     durable.State
	CurrentAt time.Time // when the version was written; while it is empty, when the one before was
	Committed time.Time // the last commit
	Rows      int64
	History   bool
	Off       bool  // the copy is kept without its history now
	Gaps      int64 // of the history
	Lists     int64 // those of the gaps in which states may be missing
}

// Reader reads a database, and cannot write.
type Reader interface {
	// Query runs one statement. Begin is called with the names of the columns, and then row with
	// each row.
	Query(ctx context.Context, statement string, begin func(columns []string) error, row func(cells []Cell) error) error

	// Streams returns the copies, by table and label, all as they were at one moment.
	Streams(ctx context.Context) ([]Stream, error)

	Close() error
}

// Read opens a database for reading.
func Read(ctx context.Context, p Place) (Reader, error) {
	if p.File != "" {
		if _, err := os.Stat(p.File); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w; relist-sql mirror makes it", err)
		} else if err != nil {
			return nil, err
		}
		return readSQLite(p) //nolint:contextcheck // a file is opened at once
	}
	return readPostgres(ctx, p)
}

// Cell is a value of a result.
type Cell struct {
	Kind Kind
	Text string // empty if the value is NULL
}

// Kind is what a Cell has.
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Text
	Number // Text is one of JSON
	Bool   // Text is true or false
	JSON
)

// StatementError is an error in a statement.
type StatementError struct {
	Err    error
	Offset int // in bytes, or -1 if the database does not say
}

func (e *StatementError) Error() string { return e.Err.Error() }

// Unwrap returns what the database says.
func (e *StatementError) Unwrap() error { return e.Err }
