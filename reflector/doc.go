// Package reflector keeps a [Sink] in step with a resource of an API server.
//
// It lists the resource, replaces what the sink holds, and watches from the
// list's resourceVersion on. A watch that ends is opened again at the last
// version that was applied, so that nothing is sent twice. Where the server no
// longer has that version, the resource is listed again.
//
// The rules are in internal/protocol: a machine without I/O, clock or goroutine, whose
// files are named for what they decide. docs/states.md is the table that the code prints
// of itself. driver.go is the goroutine that tells the machine what happens, and does
// what it says.
//
// Begin with [New], [Reflector.Run] and [Options]. What happens inside is told
// through [Trace].
package reflector
