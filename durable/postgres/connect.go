package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Connect connects to a database as [Open] does, for a program that reads the tables. The address
// comes from [ParseURL].
//
// An error is one line. pgx tries each address of each host, and each of them with TLS and without,
// and its error has all of that; the error of Connect has one attempt for each host: the one that
// came farthest. errors.As finds the others.
func Connect(ctx context.Context, config *pgx.ConnConfig) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, explainConnect(config, err)
	}
	return conn, nil
}

// connectError is an error of pgx in fewer words.
type connectError struct {
	text string
	err  error
}

func (e *connectError) Error() string { return e.text }

func (e *connectError) Unwrap() error { return e.err }

// attemptOf reads how pgx begins to speak of an attempt: "127.0.0.1:5432 (localhost): ", or
// "/run/.s.PGSQL.5432 (/run): " for a socket.
var attemptOf = regexp.MustCompile(`(?s)^\S*[:.](\d+) \((.*?)\): `)

// explainConnect says of each host why it cannot be connected to, and what the user can do about
// it.
func explainConnect(config *pgx.ConnConfig, err error) error {
	var from *pgconn.ConnectError
	if !errors.As(err, &from) {
		return err
	}
	var hosts []string
	told := map[string]error{} // for each of hosts, the attempt that came farthest
	for _, attempt := range attempts(from) {
		host := hostOf(attempt)
		before, again := told[host]
		if !again {
			hosts = append(hosts, host)
		}
		if !again || !answered(before) || answered(attempt) {
			told[host] = attempt
		}
	}
	texts := make([]string, len(hosts))
	for i, host := range hosts {
		texts[i] = strings.ReplaceAll(told[host].Error(), "\n", " ") + hintOf(config, told[host])
	}
	return &connectError{fmt.Sprintf("failed to connect as %q to the database %q: %s", config.User, config.Database, strings.Join(texts, "; ")), err}
}

// attempts are the errors of all attempts, in their order.
func attempts(err error) []error {
	for next := err; next != nil; next = errors.Unwrap(next) {
		if joined, ok := next.(interface{ Unwrap() []error }); ok {
			return joined.Unwrap()
		}
	}
	if inner := errors.Unwrap(err); inner != nil {
		return []error{inner}
	}
	return []error{err}
}

// hostOf names the server that an attempt was for.
func hostOf(attempt error) string {
	if lookup, ok := errors.AsType[*net.DNSError](attempt); ok {
		return lookup.Name
	}
	if parts := attemptOf.FindStringSubmatch(attempt.Error()); parts != nil {
		return parts[2] + ":" + parts[1]
	}
	return attempt.Error()
}

// answered reports whether a server of PostgreSQL has said why it refuses an attempt.
func answered(attempt error) bool {
	var from *pgconn.PgError
	return errors.As(attempt, &from)
}

// hintOf says what the user can do, or nothing. Class 28 is about roles:
// https://www.postgresql.org/docs/current/errcodes-appendix.html
func hintOf(config *pgx.ConnConfig, attempt error) string {
	var from *pgconn.PgError
	switch {
	case errors.Is(attempt, syscall.ECONNREFUSED):
		return " (start PostgreSQL, or correct the host and the port)"
	case !errors.As(attempt, &from):
		return ""
	case from.Code == "28P01" && config.Password == "": // invalid_password
		return " (no password was given: set PGPASSWORD, or write ~/.pgpass)"
	case from.Code == "28P01":
		return " (the password is in the URL, in PGPASSWORD or in ~/.pgpass; the first of these counts)"
	case from.Code == "28000": // invalid_authorization_specification
		return " (check the name of the role, and whether pg_hba.conf of the server lets it in from here)"
	}
	return ""
}
