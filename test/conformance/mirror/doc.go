// Package mirror runs the command relist mirror as a user would, against the real API server, over
// each way to watch and in each encoding, while objects are written and the server is killed,
// compacted and made to forget. What each command prints is checked as a history: it must add up to
// what the server holds in the end.
package mirror
