package trace

import (
	"context"
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	objectstore "github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// Mirror is the Program of this module: a reflector that fills a queue, whose
// entries are popped into a store. There is no jitter.
func Mirror(env Env) (Client, error) {
	if env.Kind == configMaps.kind {
		return newMirror[*configMap](env)
	}
	return newMirror[*anyObject](env)
}

func newMirror[T objectstore.Object](env Env) (Client, error) {
	client, err := transport.NewClient(transport.Config{
		Server:         env.Server,
		Dial:           env.Dial,
		Protocol:       transport.ProtocolHTTP1,
		WatchTransport: watchTransport(env.Options),
		OnProblem:      func(error) { env.Problem("transport", "") },
	})
	if err != nil {
		return nil, err
	}
	resource, namespace, err := ParsePath(env.Path)
	if err != nil {
		return nil, err
	}
	lw, err := listwatch.New(client, resource, listwatch.Options[T]{
		Namespace:     namespace,
		LabelSelector: env.Options.LabelSelector,
		FieldSelector: env.Options.FieldSelector,
		Encoding:      encoding(env.Options),
	})
	if err != nil {
		return nil, err
	}
	metadata, err := lw.Metadata()
	if err != nil {
		return nil, err
	}
	m := &mirror[T]{client: client, objects: objectstore.New(objectstore.Options[T]{})}
	m.queue = deltafifo.New(deltafifo.Options[T]{Known: m.objects, Coalesce: env.Options.Coalesce})
	m.reflector = reflector.New(lw, m.queue, reflector.Options{
		PageSize: env.Options.Limit,
		Initial:  initial(env.Options),
		Resync:   env.Options.Resync,
		Verify:   reflector.Verify{Every: env.Options.Verify, Metadata: metadata},
		Rand:     func() float64 { return 0 },
		Trace: &reflector.Trace{
			Problem: func(p reflector.Problem) { env.Problem(p.Class.String(), p.Key) },
		},
	})
	return m, nil
}

func encoding(opts Options) listwatch.Encoding {
	if opts.Protobuf {
		return listwatch.Protobuf
	}
	return listwatch.JSON
}

func watchTransport(opts Options) transport.WatchTransport {
	if opts.WebSocket {
		return transport.WatchWebSocket
	}
	return transport.WatchHTTP
}

func initial(opts Options) reflector.Initial {
	if opts.WatchList {
		return reflector.Watch
	}
	return reflector.ListAny
}

type mirror[T objectstore.Object] struct {
	client    *transport.Client
	reflector *reflector.Reflector[T]
	queue     *deltafifo.Queue[T]
	objects   *objectstore.Store[T]
}

// configMap is as much of a ConfigMap as traces look at. Data has a type, so that
// an object can be undecodable.
type configMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data"`
}

// anyObject is as much as traces look at of an object of another kind.
type anyObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

func (m *mirror[T]) Run(ctx context.Context) error { return m.reflector.Run(ctx) }

// Pop moves an entry from the queue to the store.
func (m *mirror[T]) Pop() (entry string, ok bool) {
	if m.queue.Len() == 0 {
		return "", false
	}
	err := m.queue.Pop(context.Background(), func(e deltafifo.Entry[T]) error {
		entry = e.Key
		var errs []error
		for _, d := range e.Deltas {
			entry += " " + describe(d)
			if d.Type == deltafifo.Deleted {
				errs = append(errs, m.objects.Delete(d.Object))
			} else {
				errs = append(errs, m.objects.Update(d.Object))
			}
		}
		return errors.Join(errs...)
	})
	if err != nil {
		entry += " " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return entry, true
}

func describe[T objectstore.Object](d deltafifo.Delta[T]) string {
	text := d.Type.String() + "@" + d.Object.GetResourceVersion()
	if d.Tombstone != nil {
		text += " (final state unknown)"
	}
	return text
}

func (m *mirror[T]) Synced() bool { return m.queue.HasSynced() }

func (m *mirror[T]) Store() []string {
	var lines []string
	for key, obj := range m.objects.All() {
		lines = append(lines, key+"@"+obj.GetResourceVersion())
	}
	return lines
}

func (m *mirror[T]) Close() {
	m.queue.Close()
	m.client.Close()
}
