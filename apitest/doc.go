// Package apitest is an API server for tests of list and watch clients: real HTTP, the rules of kube-apiserver 1.36, and
// faults on demand.
//
// It keeps every state of every object under one counter, as etcd does, and serves watches from a window of the last
// changes, as kube-apiserver's watch cache does:
//
//	storage    ... 7 ADDED pods a   8 ADDED secrets s   9 MODIFIED pods a   10 DELETED secrets s
//	replica ""     sees 10          a watch at 8 gets 9; a watch older than the window gets 410
//	replica "b"    frozen at 8      lists are of 8; a client that has seen 9 is told "Too large resource version"
//
// A list, a watch, a replica and a continue token are positions in that history, and the bytes of an object are encoded
// once, when it is committed. So a watch queues nothing: it reads the changes after its position. If the window moves
// past the position, the server closes the watch.
//
// Each state of an object is in memory once, as long as a list or a window can reach it, and once more in protobuf if a
// client asked for that. A request needs little memory. A list needs a slice of pointers, and 128 KB of encoded objects
// at a time: 20,000 Pods of 8 KB take 160 MB in the storage, and 1.4 MB for each list. A watch needs one batch of at
// most 32 events, however slow its client is. A frozen replica keeps in memory the states that it shows, and all states
// that were superseded later.
//
// # Intended use
//
// A test makes a [Server] with [Start] or [New], fills it with [Server.Create], hands it to the client under test, and
// then does to the client what a cluster would: [Server.Update] and [Server.Delete] objects, [Server.CutWatches] in the
// middle of an event, [Server.Compact] so that the client has to list again, [Replica.Freeze] a second server and
// [Server.Route] the client to it. In the end, [Server.List] returns the objects that the client should have.
//
// There are three ways to connect: [Server.Listen] on loopback, for real clients and for kubectl; [StartInMemory], whose
// connections work inside [testing/synctest], where hours of bookmarks take no time; and the server as the handler of an
// [net/http/httptest] server. The server starts no goroutines except those of a listener. [Server.ListenTLS] is for clients that want HTTP/2 or https.
//
// # Faults over HTTP
//
// Every fault is also a POST below /_faults/, for programs in other languages and for a terminal; a GET of /_faults/
// lists them, and says which are in effect. A request with the header "X-Relist-Faults: off" meets none of the faults
// of requests, watches and connections, so that a test can write and read while other clients meet faults. Faults of
// the storage (compact, restore, freeze) and of the port (refuse) concern all clients.
//
// # What it is not
//
// There is no schema: an object is any JSON with valid metadata, defaults are not filled in, unknown fields are kept,
// and fieldValidation is accepted because there is nothing to validate against. There are no admission, authorization,
// controllers or garbage collection; a namespace need not exist, and deleting a namespace leaves its objects. Server-side
// apply knows lists by their names. docs/apitest.md has a table of the differences from
// kube-apiserver; test/conformance/apiserver compares the two.
//
// Watches can be had over WebSocket, too, with the handshake of the library that kube-apiserver uses.
//
// The bodies of requests are JSON, YAML or protobuf. Answers are JSON, YAML, protobuf for built-in types and for metadata, and
// CBOR if [Options] say so. kubectl's get, describe, apply, create, patch, label, annotate, replace, diff, wait and delete work. A
// strategic merge patch is a merge patch; one with lists is refused. kubectl get prints the names and ages of objects, and how many
// values ConfigMaps have. kubectl's scale, explain, logs and exec do not work.
package apitest
