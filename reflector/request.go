package reflector

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/relist-go/relist/internal/goexit"
	"github.com/relist-go/relist/internal/hook"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
)

// request is an open request. It has a goroutine of its own, because reading blocks. The
// goroutine sends what it receives to messages, in order. It is one message ahead of the
// driver: it reads and decodes the next message while the driver works on the last.
type request[T any] struct {
	messages chan message[T]
	cancel   context.CancelFunc
	done     chan struct{} // closed when the goroutine has ended
	waits    atomic.Bool   // a message waits for the driver
	lastByte lastRead

	started time.Time
	key     string // of a refetch; the driver owns this field and those below
	watch   bool   // a watch, not a list
	events  int    // received, without bookmarks
}

// message has one input for the machine, or a batch of events, or a part of a list. Each event
// of a batch is an input. If the input is the end of a list or the answer to a refetch, list has
// the objects, which the machine does not see.
type message[T any] struct {
	in    protocol.Input
	list  *source.List[T]
	batch []source.Event[T]
	part  *source.Part[T]
}

// start begins a request. arrived is called whenever some of its bytes have come. exited has one if
// a function of the program has ended the goroutine.
func start[T any](ctx context.Context, now time.Time, arrived func(), exited chan<- struct{}, run func(context.Context, *request[T])) *request[T] {
	ctx, cancel := context.WithCancel(ctx)
	r := &request[T]{
		messages: make(chan message[T]),
		cancel:   cancel,
		done:     make(chan struct{}),
		lastByte: lastRead{start: now},
		started:  now,
	}
	ctx = hook.With[hook.Read](ctx, func(int) {
		r.lastByte.note()
		arrived()
	})
	go goexit.Do(func() { run(ctx, r) }, func(ended bool) {
		if ended {
			select {
			case exited <- struct{}{}:
			default:
			}
		}
		cancel()
		close(r.done)
	})
	return r
}

// received returns the channel of the messages. If r is nil, it returns nil, and a
// receive from that blocks forever.
func (r *request[T]) received() <-chan message[T] {
	if r == nil {
		return nil
	}
	return r.messages
}

// heard returns when the last byte of the request came. If a message waits for the
// driver, heard returns now: the goroutine reads nothing until the driver takes that
// message, so the time of the last byte says nothing about the server.
func (r *request[T]) heard(now time.Time) time.Time {
	if r == nil {
		return time.Time{}
	}
	if r.waits.Load() {
		return now
	}
	return r.lastByte.at()
}

// stop gives the request up and waits for its goroutine. A message that the driver has not
// taken is dropped. stop may be called on nil.
func (r *request[T]) stop() {
	if r != nil {
		r.cancel()
		<-r.done
	}
}

func (r *request[T]) send(ctx context.Context, m message[T]) bool {
	r.waits.Store(true)
	defer r.waits.Store(false)
	select {
	case r.messages <- m:
		return true
	case <-ctx.Done():
		return false
	}
}

// list asks for everything, and sends each part of the list as it comes.
func list[T any](lw source.ListWatcher[T], eff protocol.List, known func(key string) (T, object.Meta, bool)) func(context.Context, *request[T]) {
	return func(ctx context.Context, r *request[T]) {
		opts := metav1.ListOptions{ResourceVersion: eff.Version, Limit: eff.Limit}
		rest, err := source.EachKnown(ctx, lw, opts, known, func(part source.Part[T]) error {
			if !r.send(ctx, message[T]{part: &part}) {
				return ctx.Err()
			}
			return nil
		})
		if err != nil {
			r.send(ctx, message[T]{in: protocol.Listed{Failure: requestFailureOf(err)}})
			return
		}
		r.send(ctx, message[T]{in: protocol.Listed{}, list: rest})
	}
}

// refetch asks for the one object under a key, or for any one object if the key is empty.
func refetch[T any](lw source.ListWatcher[T], eff protocol.Refetch) func(context.Context, *request[T]) {
	return func(ctx context.Context, r *request[T]) {
		page, err := lw.List(ctx, refetchOptions(eff))
		if err != nil {
			r.send(ctx, message[T]{in: protocol.Refetched{Failure: requestFailureOf(err)}})
			return
		}
		answer := protocol.Refetched{Version: page.ResourceVersion, More: page.Continue != ""}
		r.send(ctx, message[T]{in: answer, list: &source.List[T]{Items: page.Items, Metas: page.Metas, Errors: page.Errors}})
	}
}

// refetchOptions returns the options of a list of one key. They select by namespace and name.
// kube-apiserver has these field selectors for every resource; a server that ignores them,
// as OpenShift does for projects, is recognised by what it sends. A list without a
// resourceVersion is of the most recent state. The limit is 2, because a second object
// shows that the server ignores the selectors. Source:
// https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/
func refetchOptions(eff protocol.Refetch) metav1.ListOptions {
	opts := metav1.ListOptions{Limit: 2}
	if eff.At != "" {
		opts.ResourceVersion, opts.ResourceVersionMatch = eff.At, metav1.ResourceVersionMatchExact
	}
	switch namespace, name, namespaced := strings.Cut(eff.Key, "/"); {
	case eff.Key == "":
		opts.Limit = 1
	case !namespaced:
		opts.FieldSelector = "metadata.name=" + fields.EscapeValue(eff.Key)
	default:
		opts.FieldSelector = "metadata.namespace=" + fields.EscapeValue(namespace) + ",metadata.name=" + fields.EscapeValue(name)
	}
	return opts
}

// watch opens a stream and reads it to its end. If listGone is not nil, it reports whether the
// connection of the list before was closed.
func watch[T any](lw source.ListWatcher[T], eff protocol.Watch, listGone func() bool) func(context.Context, *request[T]) {
	return func(ctx context.Context, r *request[T]) {
		seconds := int64(eff.Timeout / time.Second)
		opts := metav1.ListOptions{ResourceVersion: eff.Version, AllowWatchBookmarks: true}
		if seconds > 0 {
			opts.TimeoutSeconds = &seconds
		}
		if eff.Initial {
			opts.SendInitialEvents = &eff.Initial
			opts.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
		}
		stream, err := lw.Watch(ctx, opts)
		if err != nil {
			r.send(ctx, message[T]{in: protocol.Ended{Failure: requestFailureOf(err)}})
			return
		}
		r.send(ctx, message[T]{in: protocol.Opened{Reconnected: listGone != nil && listGone()}})
		err = r.read(ctx, stream)
		// The stream is closed before the driver hears of its end, so that there are never two open
		// streams.
		_ = stream.Close()
		r.send(ctx, message[T]{in: protocol.Ended{Failure: failureOf(err)}})
	}
}

// listMetadata asks for the metadata of everything, exactly at a version. If that fails,
// usually because the server no longer has the version, listMetadata asks for any version
// that is not older.
func listMetadata(lw source.ListWatcher[*metav1.PartialObjectMetadata], version string) func(context.Context, *request[*metav1.PartialObjectMetadata]) {
	return func(ctx context.Context, r *request[*metav1.PartialObjectMetadata]) {
		lw := identities{lw}
		all, err := source.All(ctx, lw, metav1.ListOptions{
			ResourceVersion:      version,
			ResourceVersionMatch: metav1.ResourceVersionMatchExact,
			Limit:                metadataPageSize,
		})
		if err != nil {
			all, err = source.All(ctx, lw, metav1.ListOptions{ResourceVersion: version})
		}
		m := message[*metav1.PartialObjectMetadata]{list: all}
		if err != nil {
			m.in = protocol.MetadataListed{Failure: requestFailureOf(err)}
		} else {
			m.in = protocol.MetadataListed{Version: all.ResourceVersion}
		}
		r.send(ctx, m)
	}
}

const metadataPageSize = 500

// identities keeps only the keys, UIDs and versions of a page: the rest of a typical Pod's metadata
// takes 4 KB.
type identities struct {
	source.ListWatcher[*metav1.PartialObjectMetadata]
}

func (l identities) List(ctx context.Context, opts metav1.ListOptions) (*source.Page[*metav1.PartialObjectMetadata], error) {
	page, err := l.ListWatcher.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	if len(page.Metas) != len(page.Items) { // not every ListWatcher has them
		page.Metas = make([]object.Meta, len(page.Items))
		for i, obj := range page.Items {
			page.Metas[i] = object.Meta{Key: object.Key(obj), UID: obj.UID, ResourceVersion: obj.ResourceVersion}
		}
	}
	clear(page.Items)
	return page, nil
}

// Events come in batches. If a resource is busy, one TCP segment brings many events. A
// batch holds one event and the events behind it that have come already. To wake the driver
// costs as much as to apply an event, and a batch wakes the driver only once. In every
// other way a batch changes nothing: no event waits for one that has not come, and the
// driver applies each event by itself, in order.

// maxBatch is the largest number of events in a batch. While the driver applies one batch,
// the events of the next are decoded.
const maxBatch = 16

// read sends events to the driver until the stream ends. It uses two batches in turn. When
// the driver takes one batch, the driver has finished the other, so read can fill the other
// again.
func (r *request[T]) read(ctx context.Context, stream source.Watch[T]) error {
	var batches [2][]source.Event[T]
	for turn := 0; ; turn = 1 - turn {
		batch, err := gather(stream, batches[turn][:0])
		if len(batch) > 0 && !r.send(ctx, message[T]{batch: batch}) {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		batches[turn] = batch
	}
}

// gather waits for an event, and adds it to a batch together with the events behind it that
// have come already. If the stream ends, it returns the events before the end with the
// error.
func gather[T any](stream source.Watch[T], batch []source.Event[T]) ([]source.Event[T], error) {
	more, _ := stream.(source.Readier)
	for {
		e, err := stream.Next()
		if err != nil {
			return batch, err
		}
		batch = append(batch, e)
		if len(batch) == maxBatch || more == nil || !more.Ready() {
			return batch, nil
		}
	}
}
