// Package durable keeps a durable copy of a Kubernetes resource: in a database, or wherever a
// program's own [Copy] writes. It is for copies that outlive the program, or that others read, for
// example with SQL. It is no cache in memory, and nothing that is written into a copy reaches the
// cluster: package informer has caches, and a file for a restart is in informer/checkpoint.
//
// The copy has rows, and a point in the history of the server. One transaction changes both. The
// point has a version, and it names the keys whose rows may be wrong: the unsure keys. For every
// other key, the rows are what the server had at that version. This stays true whatever happens to
// the program, to the database or to the server. A program that is killed continues from there, and
// lists nothing if the server still has that version. If a database loses its last commits, their
// rows and their points are lost together, and the server sends the changes again.
//
// A [Mirror] is one resource and its copy. It drives a reflector, collects changes into
// transactions, and writes lists while they arrive. The packages sqlite and postgres beside it have
// copies for two databases; the command relist-sql is made of all three.
package durable
