// Package connhook carries a function in a context from who sends requests to who knows their connections.
package connhook

import "context"

type key struct{}

// With returns a context whose requests call hook when an answer with a 2xx status begins. The function gone reports whether the
// connection of that answer has been closed since, by either end. The hook runs on the goroutine that sends the request.
func With(ctx context.Context, hook func(gone func() bool)) context.Context {
	return context.WithValue(ctx, key{}, hook)
}

// From returns the hook of a context; nil if it has none.
func From(ctx context.Context) func(gone func() bool) {
	hook, _ := ctx.Value(key{}).(func(func() bool))
	return hook
}
