package trace

import "testing"

// Check runs f outside of go test, and returns a [*Failure] if the run is not what
// the file says.
//
// Do not call Check from two goroutines, nor from within a test's bubble.
func Check(f *File, program Program) error {
	got, err := inBubble(new(testing.T), f, program, func(string) {}) // as in Replay
	return compare(f, got, err)
}
