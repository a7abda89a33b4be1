package reflector_test

import (
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
)

// The Trace of a reflector is a log and a counter. Here it is called as a reflector calls it that
// is refused twice before its first list.
func ExampleLogTrace() {
	lists := 0
	count := &reflector.Trace{ListDone: func(reflector.ListDone) { lists++ }}
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	trace := reflector.JoinTraces(count, reflector.LogTrace(logger))

	refused := errors.New("list pods: 401 Unauthorized")
	trace.Backoff(reflector.Backoff{Delay: time.Second, Reason: protocol.Denied, Err: refused, News: protocol.Fails})
	trace.Backoff(reflector.Backoff{Delay: time.Second, Reason: protocol.Denied, Err: refused})
	trace.ListDone(reflector.ListDone{ResourceVersion: "1000", Items: 20, Duration: 30 * time.Millisecond})
	// Output:
	// level=WARN msg="relist: failing" reason=denied error="list pods: 401 Unauthorized" delay=1s
	// level=INFO msg="relist: listed" reason=first objects=20 took=30ms resourceVersion=1000
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
