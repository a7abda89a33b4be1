// Package cli is what the commands relist and relist-sql have in common: how a command runs and ends, how it says that a command
// line was not understood, the flags that choose a server and its objects, and what a shell completes.
//
// Begin with Execute and Selection.
package cli
