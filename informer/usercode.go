package informer

import (
	"reflect"
	"runtime"
)

// userCode calls f, which calls code of the program's own on a handler's goroutine. It is a function, never inlined, so
// that [insideCallback] can find it on the stack.
//
//go:noinline
func userCode(f func()) { f() }

// userCodeName is its name with the path of the package.
var userCodeName = runtime.FuncForPC(reflect.ValueOf(userCode).Pointer()).Name()

// insideCallback reports whether the caller was called, over however many functions, by a callback of any handler. To wait
// for the end of a callback would then be to wait for oneself, or for someone who may be waiting for us.
func insideCallback() bool {
	frames := runtime.CallersFrames(stack())
	for {
		frame, more := frames.Next()
		if frame.Function == userCodeName {
			return true
		}
		if !more {
			return false
		}
	}
}

// stack returns all of the caller's stack.
func stack() []uintptr {
	for size := 64; ; size *= 2 {
		pcs := make([]uintptr, size)
		if n := runtime.Callers(0, pcs); n < size {
			return pcs[:n]
		}
	}
}
