package postgres

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var (
	errURL = errors.New("the URL of the database cannot be read, and is not shown because it can contain a password; " +
		"it looks like postgres://user:password@host:5432/database?sslmode=verify-full")
	errUnescaped = errors.New("the URL of the database has an @ behind its host, and is not shown because that can be a part of the password; " +
		"in a password, write / as %2F, ? as %3F, # as %23 and @ as %40")
)

// ParseURL reads the address of a database as [Open] does, for a program that reads the tables. An
// error does not say what is wrong: any part of an address that cannot be read may be a part of the
// password.
func ParseURL(url string) (*pgx.ConnConfig, error) {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		// In postgres://user:12/34@host/db, the host is "user", the port 12, and the database
		// "34@host/db". An error of the connection would show these.
		if end := strings.IndexAny(rest, "/?#"); end >= 0 && strings.Contains(rest[end:], "@") {
			return nil, errUnescaped
		}
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errURL
	}
	return config, nil
}

// configOf reads the address of a database that is written to.
func configOf(url string) (*pgx.ConnConfig, error) {
	config, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	if config.ValidateConnect == nil && len(config.Fallbacks) > 0 {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite // of several servers, the primary
	}
	if _, ok := config.RuntimeParams["application_name"]; !ok {
		config.RuntimeParams["application_name"] = "relist"
	}
	return config, nil
}
