// Package trace runs golden traces: conversations between an API server and a
// watch client, written down in the order in which they happened.
//
//	# A bookmark moves the resume point, so a dropped watch goes on there.
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
// The author writes the stimuli: commands, and what the server says (<). The
// run writes what the client did about each, directly below it: requests and
// hang-ups (>), entries of its queue (=), problems (!) and the time that passed
// (~). A run compares the two; with -update it rewrites its own lines and
// leaves every other byte alone. docs/trace-format.md is the whole language.
//
// The client is the real one, with the real net/http, over a connection that is
// a piece of memory, in a bubble of testing/synctest: hours of timeouts take
// microseconds, and every run gives the same bytes.
//
// Any client can be run so. It is a [Program]: a function that is given a way to
// dial and makes a [Client]. [Mirror] is the one of this module. Begin with [Run]
// in a test, or with [Replay] in a command.
package trace
