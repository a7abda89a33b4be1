package reflector

import (
	"context"
	"errors"
	"sync"

	"github.com/relist-go/relist/internal/hook"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/protocol"
)

// Reflector keeps a [Sink] in step with an API server.
type Reflector[T any] struct {
	lw     source.ListWatcher[T]
	sink   Sink[T]
	holder Holder[T] // the sink; nil if it does not say what it holds
	fatal  func(error) bool
	check  VerifyOptions
	trace  Trace
	start  Point // where to begin; the first Run uses it

	running sync.Mutex        // held by Run
	machine *protocol.Machine // owned by Run

	shared  shared        // what Status, WaitForVersion and Relist read
	relists chan struct{} // holds a token after a call of Relist, until the driver takes it
}

// errRunning is returned by a second [Reflector.Run] while the first still runs.
var errRunning = errors.New("reflector: Run was called while the reflector runs")

// New returns a Reflector that has not started.
func New[T any](lw source.ListWatcher[T], sink Sink[T], opts Options) *Reflector[T] {
	r := &Reflector[T]{
		lw:      lw,
		sink:    sink,
		fatal:   opts.Fatal,
		check:   opts.Verify,
		trace:   opts.Trace.withDefaults(),
		relists: make(chan struct{}, 1),
	}
	rules := opts.rules()
	r.holder, rules.SinkTells = sink.(Holder[T])
	r.machine = protocol.New(rules)
	r.StartAt(opts.Start)
	return r
}

// Run lists and watches until ctx ends, and returns ctx.Err(). Every goroutine it
// started has ended by then; a connection that the client was just making is given up,
// and may end a moment later. If [Options.Start] has a point, it begins with a watch there.
//
// No error of the server ends Run, unless [Options.Fatal] says so. The reflector reports each error
// through Trace, and sends the request again. If the ListWatcher or a transform calls
// runtime.Goexit, as t.FailNow does, Run returns an error that says so. If the sink or Trace does,
// which Run calls on its own goroutine, that goroutine ends. A program may call Run again after it
// has returned. The new Run continues where the last one ended: if a watch was open, or was about
// to be opened, Run opens a watch at the resume version; otherwise it lists.
func (r *Reflector[T]) Run(ctx context.Context) error {
	if !r.running.TryLock() {
		return errRunning
	}
	defer r.running.Unlock()
	resource, namespace := source.ScopeOf(r.lw)
	r.trace.RunStart(RunStart{resource, namespace})
	d := driver[T]{Reflector: r, exited: make(chan struct{}, 1)}
	d.stepped = hook.From[hook.Step[*protocol.Machine, protocol.Input, protocol.Effect]](ctx)
	return d.run(ctx)
}
