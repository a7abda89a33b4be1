package trace

import (
	"context"
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/internal/target"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	objectstore "github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// Mirror is the Program of traces that name no other: a reflector that fills a queue. Pop moves
// an entry from the queue to a store.
func Mirror(env Env) (Client, error) {
	if env.Kind == configMaps.kind {
		return newMirror[*configMap](env)
	}
	return newMirror[*anyObject](env)
}

func newMirror[T object.Object](env Env) (Client, error) {
	cfg := transport.Config{
		Server:    env.Server,
		Dial:      env.Dial,
		Protocol:  transport.ProtocolHTTP1,
		Gzip:      new(false),
		OnProblem: func(err error) { env.Problem("transport", "", err) },
	}
	switch env.Options.Transport {
	case overHTTP2:
		cfg.Protocol = transport.ProtocolHTTP2
	case overWebSocket:
		cfg.WatchTransport = transport.WatchWebSocket
	}
	if env.Options.Gzip {
		cfg.Gzip = new(true)
	}
	client, err := transport.NewClient(cfg)
	if err != nil {
		return nil, err
	}
	resource, namespace, err := target.Collection(env.Path)
	if err != nil {
		return nil, err
	}
	lw, err := listwatch.New(client, resource, listwatch.Options[T]{
		Namespace:     namespace,
		LabelSelector: env.Options.LabelSelector,
		FieldSelector: env.Options.FieldSelector,
		ShardSelector: env.Options.ShardSelector,
		Encoding:      formats[encoding(env.Options.Encoding)],
		Drop:          slices.DeleteFunc([]string{env.Options.Drop}, func(path string) bool { return path == "" }),
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
	if saved, ok := env.Saved.(savedCopy[T]); ok {
		m.saved = saved
		for _, obj := range saved.objects {
			if err := m.objects.Add(obj); err != nil {
				return nil, err
			}
		}
	}
	initial := reflector.FromCache
	if env.Options.WatchList {
		initial = reflector.Streaming
	}
	m.reflector = reflector.New(lw, reflector.Sink[T](savingSink[T]{reflector.InQueue(m.queue), m}), reflector.Options{
		Start:    m.saved.point,
		PageSize: env.Options.Limit,
		Initial:  initial,
		Resync:   env.Options.Resync,
		Verify:   reflector.VerifyOptions{Interval: env.Options.Verify, Metadata: metadata},
		Rand:     env.Rand,
		Trace: &reflector.Trace{
			Problem: func(p reflector.Problem) { env.Problem(p.Class.String(), p.Key, p.Err) },
		},
	})
	return m, nil
}

// formats are what the encodings of traces are to a client; "" is JSON.
var formats = map[encoding]listwatch.Encoding{"": listwatch.JSON, protobufEncoding: listwatch.Protobuf}

type mirror[T object.Object] struct {
	client    *transport.Client
	reflector *reflector.Reflector[T]
	queue     *deltafifo.Queue[T]
	objects   *objectstore.Store[T]
	saved     savedCopy[T]
}

// savedCopy is all that the client was given, and the point to continue from.
type savedCopy[T object.Object] struct {
	point   reflector.Point
	objects []T
}

// Saved returns the copy at the last point, for the command "restart saved".
func (m *mirror[T]) Saved() any { return m.saved }

// savingSink saves the copy at each point: what the store will hold once the whole queue is popped.
type savingSink[T object.Object] struct {
	reflector.Memory[T]

	m *mirror[T]
}

// At implements [reflector.Sink].
func (s savingSink[T]) At(resourceVersion string, point func() reflector.Point) {
	s.Memory.At(resourceVersion, point)
	saved := savedCopy[T]{point: point()}
	if saved.point.Version == "" {
		return
	}
	for _, key := range s.Keys() {
		if obj, ok := s.Get(key); ok {
			saved.objects = append(saved.objects, obj)
		}
	}
	s.m.saved = saved
}

// configMap has the members of a ConfigMap that traces use. Data has a type, so
// that a trace can contain an object that cannot be decoded.
type configMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data"`
}

// anyObject has the members that traces use of objects of other kinds.
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

func describe[T object.Object](d deltafifo.Delta[T]) string {
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

// Queued returns the entries that wait, for a [Recording].
func (m *mirror[T]) Queued() []string {
	var lines []string
	for _, e := range m.queue.Entries() {
		line := e.Key
		for _, d := range e.Deltas {
			line += " " + describe(d)
		}
		lines = append(lines, line)
	}
	return lines
}

func (m *mirror[T]) Close() {
	m.queue.Close()
	m.client.Close()
}
