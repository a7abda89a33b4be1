// Package cluster runs a real etcd and a real kube-apiserver on loopback, for
// tests that have to see what the real server does: no kubelet, no controllers,
// only the API. Both programs are built from their Go modules by `make
// conformance`, into test/conformance/bin.
//
//	c := cluster.New(t, cluster.Options{})    // a test: ends with it, shows the logs when it fails
//	c, err := cluster.Start(ctx, cluster.Options{})
//	c.KillAPIServer()                         // SIGKILL: connections are reset
//	c.StartAPIServer(ctx)                     // the same port, certificates and credentials
//	c.Compact(ctx)                            // etcd forgets everything before now
//
// # How to be told 410 Expired, without waiting
//
// The API server keeps a window of events in memory, per resource, for 75
// seconds and at least 100 events, and answers watches from it alone: as long as
// the window reaches back far enough, compacting etcd is never noticed. Its own
// compaction, each 5 minutes, is switched off here, so that history goes when a
// test says so and at no other time. What works, and how long it takes:
//
//   - A watch, by restart: KillAPIServer, StartAPIServer. The new window begins at
//     the revision at which the new process lists, so a watch from before that is
//     refused, with an ERROR event in a 200 response: "too old resource version:
//     200 (230)". A write of any kind has to lie between, or the two revisions are
//     equal and the watch goes on; the server's own at start, of its lease, do
//     not always come early enough to count on. Takes 3 to 5 seconds.
//   - A watch, by compaction: start with Uncached("configmaps"), which has etcd
//     itself serve the watches of that resource; then Compact. At once.
//   - A list with a continue token, or with resourceVersionMatch=Exact: Compact.
//     The server answers those from snapshots of its cache where it can, and looks every
//     15 seconds whether etcd has forgotten some. With Uncached: at once.
//   - Not by many events: a full window doubles rather than drop what is younger
//     than 75 seconds, up to 102,400 events.
//
// What tells the server of a compaction is the key compact_rev_key in etcd, which
// API servers write when they compact. Compact writes it too.
//
// Too large resource version needs no help: ask for a version that is far ahead.
// The server waits 3 seconds for it, then answers 504 to a list.
package cluster
