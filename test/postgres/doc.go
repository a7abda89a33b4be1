// Package check tests the copies of package postgres with a real server, see pgserver.
package check
