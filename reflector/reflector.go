package reflector

import (
	"context"
	"errors"
	"sync"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/protocol"
)

// Reflector keeps a [Sink] in step with an API server.
type Reflector[T any] struct {
	lw    listwatch.ListWatcher[T]
	sink  outlet[T]
	fatal func(error) bool
	check Verify
	trace Trace
	start Point // where to begin; the first Run uses it

	running sync.Mutex        // held by Run
	machine *protocol.Machine // owned by Run

	board   board         // what Status, WaitFor and Relist read
	relists chan struct{} // holds a token after a call of Relist, until the driver takes it
}

// outlet is a sink together with its optional methods. A field is nil if the sink lacks
// that method, and get is nil if the sink is a Remote.
type outlet[T any] struct {
	Sink[T]

	remote   Remote[T]
	get      func(key string) (T, bool)   // of Known
	keys     func() []string              // of Held
	mark     func(resourceVersion string) // of Marker
	markSafe func(resourceVersion string) // of SafeMarker
	point    func(Point)                  // of PointMarker
	resumed  func()                       // of Resumer
}

// ErrRunning is returned by a second [Reflector.Run] while the first still runs.
var ErrRunning = errors.New("reflector: Run was called while the reflector runs")

// New returns a Reflector that has not started.
func New[T any](lw listwatch.ListWatcher[T], sink Sink[T], opts Options) *Reflector[T] {
	r := &Reflector[T]{
		lw:      lw,
		sink:    outletOf(sink),
		fatal:   opts.Fatal,
		check:   opts.Verify,
		start:   opts.Start,
		trace:   opts.Trace.withDefaults(),
		relists: make(chan struct{}, 1),
	}
	rules := opts.rules()
	rules.SinkTells, rules.SinkCounts = r.sink.tells(), r.sink.keys != nil
	r.machine = protocol.New(rules)
	return r
}

// tells reports whether the sink tells what it holds.
func (o *outlet[T]) tells() bool { return o.get != nil || o.remote != nil }

func outletOf[T any](sink Sink[T]) outlet[T] {
	o := outlet[T]{Sink: sink}
	if remote, ok := sink.(Remote[T]); ok {
		o.remote = remote
	} else if known, ok := sink.(Known[T]); ok {
		o.get = known.Get
	}
	if held, ok := sink.(Held); ok {
		o.keys = held.Keys
	}
	if marker, ok := sink.(Marker); ok {
		o.mark = marker.Mark
	}
	if marker, ok := sink.(SafeMarker); ok {
		o.markSafe = marker.MarkSafe
	}
	if marker, ok := sink.(PointMarker); ok {
		o.point = marker.MarkPoint
	}
	if resumer, ok := sink.(Resumer); ok {
		o.resumed = resumer.Resumed
	}
	return o
}

// Run lists and watches until ctx ends, and returns ctx.Err(). Every goroutine it
// started has ended by then; a connection that the client was just making is given up,
// and may end a moment later. If [Options.Start] has a point, it begins with a watch there.
//
// No error of the server ends Run, unless [Options.Fatal] says so. The reflector reports
// each error through Trace, and sends the request again. A program may call Run again
// after it has returned. The new Run goes on where the last one ended: if a watch was
// open, or was about to be opened, Run opens a watch at the resume point; otherwise it
// lists.
func (r *Reflector[T]) Run(ctx context.Context) error {
	if !r.running.TryLock() {
		return ErrRunning
	}
	defer r.running.Unlock()
	resource, namespace := source.ScopeOf(r.lw)
	r.trace.RunStart(RunStart{resource, namespace})
	d := driver[T]{Reflector: r}
	return d.run(ctx)
}
