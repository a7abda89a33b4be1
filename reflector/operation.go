package reflector

import (
	"context"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
)

// operation is the one request that a reflector has open, on a goroutine of its
// own, because reading blocks. What it receives goes to messages in order. It is one
// message ahead of the driver: it reads and decodes the next while the driver is at work.
type operation[T any] struct {
	messages chan message[T]
	cancel   context.CancelFunc
	done     chan struct{} // closed when the goroutine has ended
	waits    atomic.Bool   // there is a message that the driver has not taken

	started time.Time
	watch   bool // a watch, not a list
	serves  int  // the calls of Relist that it satisfies, as numbered by the board
	open    bool // the watch has been answered; owned by the driver, as is events
	events  int  // received, without bookmarks
}

// message is an input for the machine with the objects that belong to it, which
// the machine does not see; or a batch of events, each of which is an input; or the
// event of a visit.
type message[T any] struct {
	in    input
	list  *listwatch.List[T]
	batch []listwatch.Event[T]
	event listwatch.Event[T]
}

func start[T any](ctx context.Context, watch bool, run func(context.Context, *operation[T])) *operation[T] {
	ctx, cancel := context.WithCancel(ctx)
	o := &operation[T]{
		messages: make(chan message[T]),
		cancel:   cancel,
		done:     make(chan struct{}),
		started:  time.Now(),
		watch:    watch,
	}
	go func() {
		defer close(o.done)
		defer cancel()
		run(ctx, o)
	}()
	return o
}

// received is where messages come from; nil, which never delivers, if nothing is open.
func (o *operation[T]) received() <-chan message[T] {
	if o == nil {
		return nil
	}
	return o.messages
}

// heard returns when the server was last heard: when its last byte came, of which board
// has taken note, or now if something waits for the driver. Until that is taken nothing
// more is read.
func (o *operation[T]) heard(board *board, now time.Time) time.Time {
	if o != nil && o.waits.Load() {
		return now
	}
	return board.lastHeard()
}

// stop gives the request up and waits for its goroutine. What it has received
// and nobody has taken is dropped.
func (o *operation[T]) stop() {
	o.cancel()
	<-o.done
}

func (o *operation[T]) send(ctx context.Context, m message[T]) bool {
	o.waits.Store(true)
	defer o.waits.Store(false)
	select {
	case o.messages <- m:
		return true
	case <-ctx.Done():
		return false
	}
}

func runList[T any](lw listwatch.ListWatcher[T], eff list, known listwatch.Known[T]) func(context.Context, *operation[T]) {
	return func(ctx context.Context, o *operation[T]) {
		all, err := listwatch.AllKnown(ctx, lw, metav1.ListOptions{ResourceVersion: eff.version, Limit: eff.limit}, known)
		if err != nil {
			o.send(ctx, message[T]{in: listFailed{err: err}})
			return
		}
		o.send(ctx, message[T]{in: listed{version: all.ResourceVersion, pages: all.Pages}, list: all})
	}
}

// runProbe asks for one object of the most recent state, for it and for the version of
// that state.
func runProbe[T any](lw listwatch.ListWatcher[T]) func(context.Context, *operation[T]) {
	return func(ctx context.Context, o *operation[T]) {
		page, err := lw.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			o.send(ctx, message[T]{in: probed{err: err}})
			return
		}
		o.send(ctx, message[T]{in: probed{version: page.ResourceVersion}, list: &listwatch.List[T]{Items: page.Items}})
	}
}

func runWatch[T any](lw listwatch.ListWatcher[T], eff watch) func(context.Context, *operation[T]) {
	return func(ctx context.Context, o *operation[T]) {
		seconds := int64(eff.timeout / time.Second)
		opts := metav1.ListOptions{ResourceVersion: eff.version, AllowWatchBookmarks: true}
		if seconds > 0 {
			opts.TimeoutSeconds = &seconds
		}
		if eff.initial {
			opts.SendInitialEvents = &eff.initial
			opts.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
		}
		stream, err := lw.Watch(ctx, opts)
		if err == nil {
			o.send(ctx, message[T]{in: opened{}})
			err = o.read(ctx, stream)
			// The stream is closed before its end is told, so that never two
			// are open.
			_ = stream.Close()
		}
		o.send(ctx, message[T]{in: ended{err: err}})
	}
}
