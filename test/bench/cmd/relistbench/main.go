// Command relistbench runs a case with relist. See package cases. If its first argument is soak, it
// runs for a long time instead.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/lazy"
	"github.com/relist-go/relist/listwatch/lazy/zstd"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/test/bench/cases"
	"github.com/relist-go/relist/test/bench/objects"
	"github.com/relist-go/relist/transport"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "soak" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		err := soak(ctx, os.Args[2:])
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, "relistbench: soak:", err)
			os.Exit(1)
		}
		return
	}
	cases.Main("relist", connect)
}

// problems is for requests that fail. An informer repeats them.
var problems = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))

// encodings has the Encoding for each format in the cases.
var encodings = map[objects.Format]listwatch.Encoding{objects.JSON: listwatch.JSON, objects.Protobuf: listwatch.Protobuf}

// client runs its informers in a group.
type client struct {
	transport *transport.Client
	group     *informer.Group
	run       func(ctx context.Context) // runs the group
}

func connect(access cases.Access, _ cases.Case) (cases.Client, error) {
	config := transport.Config{Server: access.URL, TLS: transport.TLSConfig{Insecure: access.HTTP2}}
	if access.Gzip {
		config.Gzip = new(true)
	}
	c, err := transport.NewClient(config)
	if err != nil {
		return nil, err
	}
	group := informer.NewGroup()
	var once sync.Once
	return client{c, group, func(ctx context.Context) {
		once.Do(func() {
			go func() {
				if err := group.Run(ctx); !errors.Is(err, ctx.Err()) {
					fmt.Fprintln(os.Stderr, "relistbench: an informer ended:", err)
					os.Exit(1)
				}
			}()
		})
	}}, nil
}

// Start implements cases.Client.
func (c client) Start(ctx context.Context, spec cases.Spec, handlers ...cases.Handler) (cases.Informer, error) {
	switch spec.Object {
	case cases.Unstructured:
		return start[*unstructured.Unstructured](ctx, c, spec, handlers)
	case cases.Slim:
		return start[*slimPod](ctx, c, spec, handlers)
	case cases.Lazy, cases.Unchecked, cases.Packed:
		opts := lazy.Options{
			Encoding: encodings[spec.Encoding], Unchecked: spec.Object != cases.Lazy,
			Fields: []lazy.Named{lazy.At[string]("spec.nodeName"), lazy.At[corev1.PodPhase]("status.phase")},
		}
		if spec.Object == cases.Packed {
			opts.Packer = zstd.New()
		}
		encoding, err := lazy.New[*corev1.Pod](opts)
		if err != nil {
			return nil, err
		}
		return startWith(ctx, c, spec, handlers, listwatch.Options[*lazy.Object[*corev1.Pod]]{Encoding: encoding, Drop: []string{"metadata.managedFields"}})
	default:
		return start[*corev1.Pod](ctx, c, spec, handlers)
	}
}

// running is a started informer.
type running[T object.Object] struct{ *informer.Informer[T] }

func (r running[T]) Keys() []string      { return r.Store().Keys() }
func (r running[T]) Version() string     { return r.Store().ResourceVersion() }
func (r running[T]) Has(key string) bool { _, ok := r.Store().Get(key); return ok }
func (r running[T]) List() int           { return len(r.Store().List()) }
func (r running[T]) ByNode(node string) int {
	pods, _ := r.Store().ByIndex("node", node)
	return len(pods)
}

func start[T object.Object](ctx context.Context, c client, spec cases.Spec, handlers []cases.Handler) (cases.Informer, error) {
	return startWith(ctx, c, spec, handlers, listwatch.Options[T]{Encoding: encodings[spec.Encoding], ShareParts: spec.ShareParts})
}

func startWith[T object.Object](ctx context.Context, c client, spec cases.Spec, handlers []cases.Handler, opts listwatch.Options[T]) (cases.Informer, error) {
	opts.Namespace = spec.Namespace
	if spec.Node != "" {
		opts.FieldSelector = "spec.nodeName=" + spec.Node
	}
	resource, err := listwatch.New(c.transport, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, opts)
	if err != nil {
		return nil, err
	}
	var reflectorOpts reflector.Options
	if spec.Initial == cases.ByWatch {
		reflectorOpts.Initial = reflector.Streaming
	}
	in := informer.New(resource, informer.Options[T]{Reflector: reflectorOpts, Logger: problems})
	if spec.ByNode {
		byNode := func(obj T) []string { return []string{any(obj).(*corev1.Pod).Spec.NodeName} }
		if err := in.Store().AddIndexer("node", byNode); err != nil {
			return nil, err
		}
	}
	for _, handle := range handlers {
		_, err := in.AddHandler(informer.Handler[T]{
			OnAdd:    func(obj T, _ bool) { handle(obj, true) },
			OnUpdate: func(_, obj T) { handle(obj, false) },
		})
		if err != nil {
			return nil, err
		}
	}
	name := fmt.Sprintf("%v at %p", resource, in) // any that no other has
	if err := c.group.Add(name, in); err != nil {
		return nil, err
	}
	c.run(ctx)
	return running[T]{in}, nil
}
