// Package record runs relist record against the real API server while it is
// compacted, killed and started again, and replays what was recorded.
package record
