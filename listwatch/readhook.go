package listwatch

import (
	"context"

	"github.com/relist-go/relist/transport"
)

// WithReadHook returns a context under which a [Resource] calls hook with the number
// of bytes whenever some have arrived. See [transport.WithReadHook].
func WithReadHook(ctx context.Context, hook func(n int)) context.Context {
	return transport.WithReadHook(ctx, hook)
}
