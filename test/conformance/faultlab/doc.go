// Package faultlab counts what a client asks a server for that does one thing wrong,
// again and again.
//
//	make faultlab
//
// runs all of them for fifteen seconds over loopback, at once, each with a server and a
// client of its own, and prints a table. docs/guarantees.md has it; -update rewrites it.
// What is asked for in hours, ../../simulation counts in virtual time.
package faultlab
