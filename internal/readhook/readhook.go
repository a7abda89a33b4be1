// Package readhook carries a function in a context from who sends a request to who reads the answer.
package readhook

import "context"

type key struct{}

// With returns a context whose requests call hook with the number of bytes each time some of a response's body have arrived.
func With(ctx context.Context, hook func(n int)) context.Context {
	return context.WithValue(ctx, key{}, hook)
}

// From returns the hook of a context; nil if it has none.
func From(ctx context.Context) func(n int) {
	hook, _ := ctx.Value(key{}).(func(int))
	return hook
}
