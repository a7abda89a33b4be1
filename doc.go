// Package relist keeps a local copy of a Kubernetes resource type in step with
// the API server, and writes its objects. The packages below this one do that.
// Its own function, [New], puts a cache and a writer together, for programs that
// need both. It is no general client: it has no generated types and no exec, for
// which there is client-go.
//
// The loop, from the wire to the caller:
//
//	transport   sends a GET, or opens a watch as a stream of frames
//	listwatch   turns bytes into objects: pages of a list, events of a watch
//	reflector   asks, tells the answers to protocol, and does what that decides
//	protocol    decides what to ask next: list, watch, wait, list again
//	deltafifo   queues what changed, one entry per key, until someone takes it
//	store       holds the objects by key, with indexes
//	informer    puts these together and calls handlers
//	controller  calls a function for the keys of what has changed, until it succeeds
//
// Package controller/writer goes the other way: it creates, changes and deletes objects. Package
// controller/lease lets one of several replicas work, and controller/events tells people what a
// controller did.
//
// One round: list everything, replace the copy, watch from the list's
// resourceVersion, and apply each event. A watch that ends is resumed from the
// last resourceVersion seen. When the server says that this version is gone,
// list again; what the new list lacks was deleted while nobody watched, and is
// delivered as a deletion whose final state is unknown.
//
// Begin with package informer for a live cache, with [New] and package
// controller for a controller, with package reflector for the protocol, and with
// protocol for the rules, all in one place.
package relist
