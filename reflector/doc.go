// Package reflector keeps a [Sink] in step with a resource of an API server.
//
// It lists the resource, replaces what the sink holds, and watches from the
// list's resourceVersion on. A watch that ends is opened again at the last
// version that was applied, so that nothing is sent twice. Where the server no
// longer has that version, the resource is listed again.
//
// The rules are in machine.go: [state] and step, a function without I/O, clock
// or goroutine, which can be read from top to bottom. docs/states.md is the
// table that the code prints of itself. reflector.go is the goroutine that does
// what step says.
//
// Begin with [New], [Reflector.Run] and [Options]. What happens inside is told
// through [Trace].
package reflector
