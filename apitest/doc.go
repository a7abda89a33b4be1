// Package apitest is an API server for tests of list and watch clients: real HTTP, the rules of
// kube-apiserver 1.36, and faults on demand. It is for tests of every client, in Go or, as the
// command relist serve, in any language. It is no cluster, and not for production: see "What it is
// not".
//
// It has the layers of a control plane (server/README.md). The storage keeps a log of all changes
// under one counter, until it is compacted, as etcd does. Each replica has a cache of each type
// ([watchcache.Cache]), which follows the log, and answers lists and watches from its window of the
// last changes. Faults are in front of the caches:
//
//	storage    ... 7 ADDED pods a   8 ADDED secrets s   9 MODIFIED pods a   10 DELETED secrets s
//	replica ""     sees 10          a watch at 8 gets 9; a watch older than the window gets 410
//	replica "b"    frozen at 8      lists are of 8; a client that has seen 9 is told "Too large resource version"
//
// A watch is a position in a window, and queues nothing. If the window moves past the position, the
// server closes the watch. The bytes of an object are encoded once, when it is committed.
//
// While a list or a window can reach a state of an object, it is in memory once, and once more in
// protobuf if a client asked for that. Each replica adds pointers to the states. A request needs
// little memory. A list needs a slice of pointers, and 128 KB of encoded objects at a time: 20,000
// Pods of 8 KB take 160 MB in the storage, and 1.2 MB for each list. A watch needs one batch of at
// most 32 events, however slow its client is. While a replica is frozen, the storage also keeps the
// states that have been replaced since.
//
// # Intended use
//
// A test makes a [Server] with [Start] or [New], fills it with [Server.Create], hands it to the
// client under test, and then does to the client what a cluster would: [Server.Update] and
// [Server.Delete] objects, [Server.CutWatches] in the middle of an event, [Server.Compact] so that
// the client has to list again, [Replica.Freeze] a second server and [Server.Route] the client to
// it. In the end, [Server.List] returns the objects that the client should have.
//
// There are three ways to connect: [Server.Listen] on loopback, for real clients and for kubectl;
// [StartInMemory], whose connections work inside [testing/synctest], where hours of bookmarks take
// no time; and the server as the handler of an [net/http/httptest] server. The server starts no
// goroutines except those of a listener. [Server.ListenTLS] is for clients that want HTTP/2 or
// https.
//
// Every fault is also a POST below /_faults/, for programs in other languages and for a terminal:
// apitest/README.md lists them.
//
// # What it is not
//
// There is no schema: an object is any JSON with valid metadata. There are no admission,
// authorization, controllers or garbage collection. apitest/README.md has a table of the
// differences from kube-apiserver; test/conformance/apiserver compares the two.
//
// Watches can be had over WebSocket, too, with the handshake of the library that kube-apiserver
// uses.
//
// The bodies of requests are JSON, YAML or protobuf. Answers are JSON, and protobuf for built-in
// types and for metadata. kubectl's get, describe, apply, create, patch, label, annotate, replace,
// diff, wait and delete work. A strategic merge patch is taken for a merge patch, and refused if it
// has lists. kubectl get prints the names and ages of objects, and how many values ConfigMaps have.
// kubectl's scale, explain, logs and exec do not work.
package apitest
