package informertest

import (
	"context"
	"log/slog"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/trace"
	"github.com/relist-go/relist/transport"
)

// conversation has the lines of a handler, which needs no pop, and of its effects.
var conversation = fstest.MapFS{"calls.txt": {Data: []byte(`# Each call of a handler is a line, and the line of its effect is below it.

start path=/api/v1/pods kind=Pod
> GET /api/v1/pods?limit=500&resourceVersion=0
< 200 list rv=10
	a@5
	b@6
> GET /api/v1/pods?allowWatchBookmarks=true&resourceVersion=10&timeoutSeconds=T&watch=true
= OnAdd default/a@5 initial
= added a
= OnAdd default/b@6 initial
= added b
= OnSynced
< 200 watch
pop 2
< ADDED c@11
= OnAdd default/c@11
= added c
< MODIFIED a@12
= OnUpdate default/a@5 -> @12
< DELETED c@13
= OnDelete default/c@13

# A relist tells only what has changed, and what has gone unseen.
< ERROR 410 Expired "too old resource version: 13 (20)"
> close
wait
~ 800ms
> GET /api/v1/pods?resourceVersion=13
< 200 list rv=20
	a@12
> GET /api/v1/pods?allowWatchBookmarks=true&resourceVersion=20&timeoutSeconds=T&watch=true
= OnDelete default/b@6 inferred
stop
> close
`)}}

func TestCalls(t *testing.T) {
	trace.Run(t, conversation, trace.ProgramOf(func(ctx context.Context, env trace.Env) error {
		client, err := transport.NewClient(transport.Config{Server: env.Server, Dial: env.Dial})
		if err != nil {
			return err
		}
		defer client.Close()
		pods, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, listwatch.Options[*pod]{})
		if err != nil {
			return err
		}
		in := informer.New(pods, informer.Options[*pod]{
			Logger:    slog.New(slog.DiscardHandler),
			Reflector: reflector.Options{Rand: func() float64 { return 0 }},
		})
		_, err = in.AddHandler(Calls(env.Say, informer.Handler[*pod]{
			OnAdd: func(p *pod, _ bool) { env.Say("added " + p.Name) },
		}))
		if err != nil {
			return err
		}
		return in.Run(ctx)
	}))
}
