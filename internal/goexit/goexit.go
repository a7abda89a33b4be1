// Package goexit keeps a program from waiting for a goroutine that one of its own functions has
// ended: a test calls t.FailNow, or t.Fatal, in a callback, and that calls runtime.Goexit. The
// goroutine then runs its deferred calls, and nothing that follows.
package goexit

import "errors"

// Err is what a Run returns if a function of the program, which it has called, has not returned.
var Err = errors.New("a function of the program has ended the goroutine that called it, as t.FailNow does (runtime.Goexit)")

// Do calls f and then done, also if f ends the goroutine: exited is true then, and nothing that
// follows Do is run. If f panics, the program is about to end with the panic, and Do does not call
// done, so that nobody who waits for done ends the program sooner.
func Do(f func(), done func(exited bool)) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			panic(v)
		}
		done(true)
	}()
	f()
	returned = true
	done(false)
}

// Run calls f and then done, which gets what f returned, or [Err] if f ends the goroutine. See
// [Do].
func Run(f func() error, done func(error)) {
	err := Err
	Do(func() { err = f() }, func(bool) { done(err) })
}

// Call calls f on a goroutine of its own, and returns what f returns, or [Err] if f ends that
// goroutine.
func Call(f func() error) error {
	result := make(chan error, 1)
	go Run(f, func(err error) { result <- err })
	return <-result
}
