package postgres

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/relist-go/relist/internal/must"
)

// refusing is the address of a server without TLS that refuses everybody.
func refusing(t *testing.T, code, message string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed by the test
	must.OK(t, err)
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = ln.Close()
		<-done
	})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return // closed
			}
			refuse(conn, code, message)
			_ = conn.Close()
		}
	}()
	return ln.Addr().String()
}

// refuse answers an SSLRequest or a StartupMessage:
// https://www.postgresql.org/docs/current/protocol-message-formats.html
func refuse(conn net.Conn, code, message string) {
	head := make([]byte, 8)
	if _, err := io.ReadFull(conn, head); err != nil {
		return
	}
	if binary.BigEndian.Uint32(head[4:]) == 80877103 {
		_, _ = conn.Write([]byte("N"))
		return
	}
	if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(head))-8); err != nil {
		return
	}
	fields := "SFATAL\x00VFATAL\x00C" + code + "\x00M" + message + "\x00\x00"
	_, _ = conn.Write(append(binary.BigEndian.AppendUint32([]byte("E"), uint32(4+len(fields))), fields...))
}

// An error has one attempt for each host, the one that came farthest, and says what to do. It never
// has the password.
func TestConnectErrors(t *testing.T) {
	t.Setenv("PGPASSWORD", "")
	t.Setenv("PGPASSFILE", "/none")
	wrong := refusing(t, "28P01", `password authentication failed for user "u"`)
	unknown := refusing(t, "28000", "no pg_hba.conf entry\nfor host")
	starting := refusing(t, "57P03", "the database system is starting up")
	for name, tt := range map[string]struct{ url, want string }{
		"no password":    {"u@" + wrong, wrong + ` (127.0.0.1): server error: FATAL: password authentication failed for user "u" (SQLSTATE 28P01) (no password was given: set PGPASSWORD, or write ~/.pgpass)`},
		"wrong password": {"u:secret@" + wrong, wrong + ` (127.0.0.1): server error: FATAL: password authentication failed for user "u" (SQLSTATE 28P01) (the password is in the URL, in PGPASSWORD or in ~/.pgpass; the first of these counts)`},
		"not let in":     {"u:secret@" + unknown, unknown + ` (127.0.0.1): server error: FATAL: no pg_hba.conf entry for host (SQLSTATE 28000) (check the name of the role, and whether pg_hba.conf of the server lets it in from here)`},
		"starting":       {"u:secret@" + starting, starting + ` (127.0.0.1): server error: FATAL: the database system is starting up (SQLSTATE 57P03)`},
		"two hosts": {"u:secret@" + starting + "," + unknown, starting + ` (127.0.0.1): server error: FATAL: the database system is starting up (SQLSTATE 57P03); ` +
			unknown + ` (127.0.0.1): server error: FATAL: no pg_hba.conf entry for host (SQLSTATE 28000) (check the name of the role`},
		"no server":    {"u:secret@127.0.0.1:1", "127.0.0.1:1 (127.0.0.1): dial error: dial tcp 127.0.0.1:1: connect: connection refused (start PostgreSQL"},
		"unknown host": {"u:secret@db.invalid", "lookup db.invalid"},
		"no socket":    {"u:secret@%2fnone", "/none/.s.PGSQL.5432 (/none): dial error: "},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := ParseURL("postgres://" + tt.url + "/d")
			must.OK(t, err)
			_, err = Connect(t.Context(), config)
			if want := `failed to connect as "u" to the database "d": ` + tt.want; err == nil || !strings.HasPrefix(err.Error(), want) || strings.ContainsAny(err.Error(), "\n\t") || strings.Contains(err.Error(), "secret") {
				t.Fatalf("%v, want %s", err, want)
			}
			if n := strings.Count(err.Error(), "(127.0.0.1): ") + strings.Count(err.Error(), "lookup ") + strings.Count(err.Error(), "(/none): "); n != 1+strings.Count(tt.url, ",") {
				t.Errorf("%d attempts: %v", n, err)
			}
			var from *pgconn.ConnectError
			if !errors.As(err, &from) {
				t.Errorf("the error of pgx is lost: %v", err)
			}
		})
	}
}
