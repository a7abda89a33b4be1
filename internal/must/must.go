// Package must ends a test at an error of something that has to succeed.
package must

import "testing"

// OK ends the test if there is an error.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get returns a function that takes what a call returns, ends the test if that is an error, and
// returns the value.
func Get[T any](t testing.TB) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		OK(t, err)
		return value
	}
}
