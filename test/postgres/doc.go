// Package check tests the copies of package postgres with a real server. The tests start one of their own, from the folder in
// RELIST_POSTGRES_BIN, from PATH, or from /usr/lib/postgresql.
package check
