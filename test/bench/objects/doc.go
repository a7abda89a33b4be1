// Package objects makes any number of Pods, encoded, out of a few.
//
// A [Template] is one Pod as the API server encodes it. The parts that differ
// between Pods (name, UID, version, addresses) have a fixed length and a known
// place. A Pod is made by copying the bytes and writing those places, in JSON,
// protobuf. So a server needs much less CPU than the client that is measured,
// and 100,000 Pods take no memory.
//
// Begin with [Pods].
package objects
