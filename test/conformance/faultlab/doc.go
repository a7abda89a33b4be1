// Package faultlab counts what a client asks a server for that does one thing wrong,
// again and again.
//
//	make faultlab
//
// runs all of them and prints a table. Fifteen seconds are counted in real time over
// loopback, all shapes at once, each with a server and a client of its own; ten minutes
// in virtual time (testing/synctest), with the same handler and the same client over
// connections in memory. docs/reliability.md has the table; -update rewrites it.
package faultlab
