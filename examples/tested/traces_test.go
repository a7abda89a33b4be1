package tested

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/trace"
	"github.com/relist-go/relist/transport"
)

var _ = flag.Bool("update", false, "rewrite what the program does in the traces")

// The conversations that relist record has written are played to the program.
func TestTraces(t *testing.T) {
	trace.Run(t, os.DirFS("testdata"), trace.ProgramOf(func(ctx context.Context, env trace.Env) error {
		config := transport.Config{Server: env.Server, Dial: env.Dial}
		opts := reflector.Options{Rand: env.Rand} // the numbers of the trace
		return Follow(ctx, config, opts, func(what, key string) { env.Say(what + " " + key) })
	}))
}
