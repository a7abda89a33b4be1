//go:build unix && !linux

package cluster

// awaitStop returns at once: a program may go on for some milliseconds after it was paused.
func awaitStop(int) error { return nil }
