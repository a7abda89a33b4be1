// Package sinks runs a program that keeps a copy of a resource in a database, kills it at random
// moments, and compares the table with the server each time. These commands run in the folder
// test/conformance:
//
//	go test ./sinks                                      some kills of each kind, in a minute or so
//	go test ./sinks -run TestKills -kills=500 -v         500 for each database, 100 restored backups among them
//
// The server is apitest, in the process of the test, and the program is cmd/copy. The tests start a
// PostgreSQL of their own, which must be installed, see ../../postgres.
package sinks
