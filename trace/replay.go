package trace

import "testing"

// Replay runs f outside of go test or in a test, and returns the text that f should have: its own,
// with the observed lines of the run. The error is a [*Failure] if the run differs from the file,
// with an Err if it did not reach the end. If program is nil, it is the one that the file names.
//
// line is called with each line of the conversation as it happens. It runs inside the run's bubble,
// so it must not use a channel, a timer or a WaitGroup from outside. If nil, no function is called.
//
// Do not call Replay from two goroutines, nor from within a test's bubble.
func Replay(f *File, program Program, line func(string)) ([]byte, error) {
	program, err := f.programOr(program)
	if err != nil {
		return nil, err
	}
	if line == nil {
		line = func(string) {}
	}
	// synctest needs a *testing.T, and package testing makes one only for tests.
	// synctest only reports failures to it and attaches children to it, so a zero T
	// is enough, and nothing here reports through it. A test runs this code in a
	// plain binary.
	got, err := inBubble(new(testing.T), f, program, line, nil)
	return join(got), compare(f, got, err)
}
