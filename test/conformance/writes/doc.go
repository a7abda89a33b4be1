// Package writes lets a writer and a controller write to a real kube-apiserver: every kind of
// write, and a controller that lives by its own writes through conflicts, restarts and compaction.
package writes
