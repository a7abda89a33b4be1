// Package traces runs the golden traces of testdata/ against client-go: the same
// bytes, in the same virtual time, and the same lines have to come out.
//
// The client is a cache.Reflector that fills a cache.DeltaFIFO, on a rest client
// that dials through the run. It lists and then watches, as relist does; its newer
// way, initial events by watch, is turned off unless a trace asks for it, and so are
// jitter and the rate limiter. Three things are made comparable:
//
//   - Lines with "!" are left out. client-go reports by logging, and what it
//     tells to a WatchErrorHandler is another selection: failed lists and refused
//     watches, and nothing that happens in a stream.
//   - What is random in client-go comes by key: inferred deletions, the objects of
//     a resync, the initial events of a watch.
//   - "= synced" is what HasSynced says once an entry has been processed.
//     client-go's queue says so while the last one still is.
//
// Where relist does something else on purpose, the trace says so in its first
// line, "# differs: anchor", and docs/differences.md why, under that heading. A
// trace that says so must differ, and a trace that does not must not.
//
// testdata/ of this package has the other side: what client-go does, observed, one
// file for a heading of docs/differences.md, under the name of its anchor.
package traces
