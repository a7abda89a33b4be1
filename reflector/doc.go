// Package reflector keeps a [Sink] in step with a resource of an API server. It is for programs
// that keep objects in a place of their own: most programs want a cache, and use package informer.
// It decides nothing, which package protocol does, and it holds no objects.
//
// It lists the resource, replaces what the sink holds, and watches from the list's resourceVersion
// on. When a watch ends, the next one begins at the resume version, which is the last version that
// was applied, or up to four events before it. If the server no longer has that version, the
// reflector lists again.
//
//	                facts                              effects
//	list, watch,  ─────────▶  protocol               ─────────▶  list, watch, refetch;
//	refetch, clock;           (Machine.Step: every               sink.Apply, BeginList;
//	sink refused              rule, and no I/O)                  Trace; Status
//
// Every rule is in [github.com/relist-go/relist/protocol]: a machine
// that takes facts and returns effects, without I/O, clock or goroutine. docs/states.md
// is the table of these rules, and a test prints it from the code. driver.go has the
// goroutine that owns the machine and performs its effects. request.go has one more
// goroutine for each open request, because reading blocks.
//
// Begin with [New], [Reflector.Run] and [Options]. [Trace] reports each thing that the
// reflector does. [Reflector.Status] says how fresh the copy is.
package reflector
