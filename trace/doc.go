// Package trace runs golden traces: conversations between an API server and a
// watch client, written down in the order in which they happened. It is for tests of
// relist, and of every other client that speaks HTTP. It is no server: what the server
// says stands in the file. Package apitest is the server for tests without such a file.
//
//	# A bookmark moves the resume version, so a dropped watch continues there.
//
//	start
//	> GET /api/v1/namespaces/default/configmaps?limit=500&resourceVersion=0
//	< 200 list rv=100
//		a@90
//	> GET /api/v1/namespaces/default/configmaps?allowWatchBookmarks=true&resourceVersion=100&timeoutSeconds=T&watch=true
//	< 200 watch
//	< BOOKMARK @150
//	< cut
//	> GET /api/v1/namespaces/default/configmaps?allowWatchBookmarks=true&resourceVersion=150&timeoutSeconds=T&watch=true
//
// The author writes the stimuli: commands, and lines of the server (<). Directly below each
// stimulus, the run writes what the client did: requests and closes (>), entries of its queue (=),
// problems (!) and the time that passed (~). A run compares its lines with those in the file. With
// -update, it rewrites its own lines and leaves all other bytes unchanged. docs/trace-format.md
// describes the whole language.
//
// The client is the real one, with the real net/http, and its connections are in
// memory. It runs in a bubble of testing/synctest, so hours of timeouts take
// microseconds, and every run gives the same bytes.
//
// Any client can run in a trace. A [Program] is a function that gets a way to
// dial and makes a [Client]. [Mirror] is the Program of traces that name no other.
// Begin with
// [Run] in a test, or with [Replay] in a command.
package trace
