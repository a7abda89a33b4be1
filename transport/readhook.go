package transport

import "context"

type readHookKey struct{}

// WithReadHook returns a context whose requests call hook with the number of bytes
// each time some of a response's body have arrived. It is how a program sees that a
// stream is alive while the frame that arrives is not whole yet. The hook runs on
// the goroutine that reads, and must be quick.
func WithReadHook(ctx context.Context, hook func(n int)) context.Context {
	return context.WithValue(ctx, readHookKey{}, hook)
}

func readHook(ctx context.Context) func(n int) {
	hook, _ := ctx.Value(readHookKey{}).(func(int))
	return hook
}
