// Command peers plays faults of an API server to client libraries, relist among them, and measures
// how long each takes to hold what the server has again.
//
//	make peers                            all that this machine has tools for
//	make peers PEERS=relist,client-go     these; Go is enough
//	make peers ARGS='-faults outage -v'   one fault
//	make peers ARGS='-runs 3 -update'     three times, and write test/clients.md
//
// Each library has a small program in a folder of this one, written as the library's own
// documentation has it, with its defaults. It keeps the ConfigMaps of the server and prints a line
// whenever they have changed: package digest has the format. Every trial has a process and a server
// of its own: the server of `relist serve`, over TLS on loopback, with nothing in between.
//
// clients.go has the libraries, faults.go the faults, trial.go one trial, page.go the table.
package main
