package transport

import "context"

// limit bounds how many of something there are at once. Nil is no bound.
type limit chan struct{}

func newLimit(n int) limit {
	if n <= 0 {
		return nil
	}
	return make(limit, n)
}

// acquire waits for a place, and returns how to give it back.
func (l limit) acquire(ctx context.Context) (release func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	select {
	case l <- struct{}{}:
		return func() { <-l }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
