package check

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/internal/pgserver"
)

// shared is the server of all tests.
var shared *pgserver.Server

func TestMain(m *testing.M) {
	code := 1
	var err error
	if shared, err = pgserver.New([]string{"max_connections=50", "shared_buffers=64MB", "log_statement_stats=off"}); err == nil {
		code = m.Run()
		err = shared.Remove()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		code = 1
	}
	os.Exit(code)
}

var schemas atomic.Int64

// newSchema returns a name that no other test has.
func newSchema(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("t%d", schemas.Add(1))
}

// admin returns a connection of the superuser, for looking and for breaking things.
func admin(t testing.TB, s *pgserver.Server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL("postgres", nil))
	must.OK(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func exec1(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// query returns rows as text: values are separated by a space, rows by a newline.
func query(t testing.TB, conn *pgx.Conn, sql string, args ...any) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		values, err := row.Values()
		var b bytes.Buffer
		for i, v := range values {
			if i > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprint(&b, v)
		}
		return b.String(), err
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(lines, "\n")
}
