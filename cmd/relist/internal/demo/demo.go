// Package demo mirrors an API server that misbehaves on purpose, and checks that the copy is right
// after each fault.
//
// The server is apitest with two replicas, on loopback. The client is an informer, made as any
// program makes one. Another client, a loop as one writes it first, follows the same server. A list
// of scenes breaks one thing after another. Each waits until the client has met the fault, and has
// what was changed after it, so that a slow machine takes longer and misses nothing. Then nothing
// changes for a moment, and both copies are compared with the server.
//
// Begin with Run, and scenes.go.
package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/cmd/relist/internal/churn"
	"github.com/relist-go/relist/cmd/relist/internal/mirror"
	"github.com/relist-go/relist/docs/incidents/naive"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/trace"
	"github.com/relist-go/relist/transport"
)

const (
	objects  = 2000             // ConfigMaps to begin with
	rate     = 200              // changes a second
	patience = 20 * time.Second // how long a scene may take; on an idle machine none takes longer than three seconds

	// What production does in minutes, the demonstration does in seconds.
	bookmarks    = 500 * time.Millisecond // a minute
	freshness    = 500 * time.Millisecond // 3 s: how long a replica that is behind waits
	idle         = time.Second            // 30 s of idle time before a ping, and 15 s for its answer
	shortestWait = 50 * time.Millisecond  // 800 ms
	longestWait  = 250 * time.Millisecond // 30 s
	loopWait     = time.Second / 16       // 1 s, shorter by as much as shortestWait
)

// Options of a demonstration.
type Options struct {
	Duration time.Duration // it takes longer if the faults do
	Verbose  bool          // print each list, watch and delay, too
	Columns  int           // of the terminal
}

// configMap has the fields that the client decodes.
type configMap struct {
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data"`
}

type demo struct {
	opts    Options
	out     *report.Printer
	server  *apitest.Server
	behind  *apitest.Replica // the second replica
	changes *churn.Churner
	cache   *informer.Informer[*configMap]
	told    *informer.Registration // of deletions
	loop    trace.Client           // the other client
	tally   tally
	printed atomic.Int64 // so many deletions that no event told of may be printed
	since   time.Time    // of the present fault
	failed  bool         // a fault was not met, or the copy was wrong after it
}

// Run shows every fault, compares, prints the result, and returns nil if the copy matches and every
// fault was met.
func Run(ctx context.Context, opts Options, out *report.Printer) (err error) {
	d := &demo{opts: opts, out: out, tally: tally{counts: map[string]int{}}}
	d.server = apitest.New(apitest.Options{BookmarkPeriod: bookmarks, FreshnessTimeout: freshness, Log: d.tally.answered})
	defer func() { err = errors.Join(err, d.server.Close()) }()
	d.behind = d.server.Replica("b")
	d.changes = churn.New(d.server, uint64(time.Now().UnixNano()))
	if err := d.changes.Fill(objects); err != nil {
		return err
	}
	listener, err := d.server.Listen("127.0.0.1:0") //nolint:contextcheck // opening a local port takes no time that ctx could end
	if err != nil {
		return err
	}
	client, err := d.connect(listener.URL)
	if err != nil {
		return err
	}
	defer client.Close()
	d.loop = naive.Live(listener.URL, "/api/v1/"+churn.Resource, loopWait)
	defer d.loop.Close()
	d.introduce()

	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { _ = d.cache.Run(ctx) }) // it returns the error of ctx, and so does the loop
	running.Go(func() { _ = d.loop.Run(ctx) })
	if err := d.play(ctx); err != nil {
		return err
	}
	stop()
	running.Wait() // the result comes last
	return d.conclude()
}

// connect makes the client. HTTP/2, because only its pings, and those of a WebSocket, find a
// connection that is silently dead.
func (d *demo) connect(url string) (*transport.Client, error) {
	client, err := transport.NewClient(transport.Config{
		Server:          url,
		UserAgent:       userAgent,
		Protocol:        transport.ProtocolHTTP2,
		ReadIdleTimeout: idle,
		PingTimeout:     idle,
	})
	if err != nil {
		return nil, err
	}
	source, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: churn.Resource}, listwatch.Options[*configMap]{})
	if err != nil {
		return nil, err
	}
	lines := mirror.Lines(d.print)
	lines.Bookmark = nil // too many to follow
	d.cache = informer.New(source, informer.Options[*configMap]{
		Logger:    slog.New(slog.DiscardHandler), // the lines say the same
		Reflector: reflector.Options{BackoffBase: shortestWait, BackoffCap: longestWait, Trace: reflector.JoinTraces(lines, d.tally.trace())},
	})
	d.told, err = d.cache.AddHandler(informer.Handler[*configMap]{OnDelete: func(o *configMap, inferred bool) {
		if inferred && int64(d.tally.add("inferred")) <= d.printed.Load() {
			d.print(report.Delta{Type: "Deleted", Key: object.Key(o), ResourceVersion: o.ResourceVersion, Inferred: true})
		}
	}})
	return client, err
}

func (d *demo) print(l report.Line) {
	if d.opts.Verbose {
		d.out.Print(l)
	}
}

// play runs the scenes, spread over the duration.
func (d *demo) play(ctx context.Context) error {
	start := time.Now()
	if err := errors.Join(d.cache.WaitForSync(ctx), d.server.WaitForWatches(ctx, churn.Resource, 2)); err != nil {
		return err
	}
	for i, s := range scenes {
		quiet := d.change(ctx)
		if sleepUntil(ctx, start.Add(d.opts.Duration*time.Duration(i+1)/time.Duration(len(scenes)+1))) == nil {
			d.show(ctx, i+1, s, quiet)
		}
		if err := errors.Join(quiet(), ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// change lets objects change until quiet is called. Later calls return the same error.
func (d *demo) change(ctx context.Context) (quiet func() error) {
	ctx, stop := context.WithCancel(ctx)
	var err error
	var running sync.WaitGroup
	running.Go(func() { err = d.changes.Run(ctx, rate) })
	return func() error {
		stop()
		running.Wait()
		return err
	}
}

// show runs one scene. A fault that is not met in time, or that leaves the copy wrong, is noted,
// and the show goes on.
func (d *demo) show(ctx context.Context, number int, s scene, quiet func() error) {
	d.say(report.Bold, "%d The server %s.", number, s.server)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d.printed.Store(int64(d.tally.count("inferred") + 3))
	d.since = time.Now()
	err := s.run(ctx, d)
	d.behind.Unfreeze()
	d.server.ClearFaults()
	if err == nil {
		err = d.touch(ctx, 1)
	}
	took := time.Since(d.since)
	if err = errors.Join(err, quiet()); err == nil {
		err = d.settle(ctx, s)
	}
	if err != nil {
		d.failed = true
		d.out.Print(report.Problem{Class: "demo", Message: fmt.Sprintf("fault %d is NOT MET: %v", number, err)})
		return
	}
	d.result(s, took, d.loopDiffers())
}

// touch changes n objects, and waits until the copy has that and everything before it, deletions
// were told, and a watch is open.
func (d *demo) touch(ctx context.Context, n int) error {
	version, err := d.changes.Touch(n)
	if err != nil {
		return err
	}
	if err := d.cache.WaitForVersion(ctx, version); err != nil {
		return fmt.Errorf("version %s does not arrive: %w", version, err)
	}
	return until(ctx, func() bool { return d.told.Pending() == 0 && d.tally.watching.Load() })
}

// settle waits until both clients have everything, if they can, and returns an error if the copy
// differs.
func (d *demo) settle(ctx context.Context, s scene) error {
	d.loopHas("") // forgets what it was told: a restored server gives versions again
	// A loop that begins anew gets the first change among all objects, and the second after them.
	for range 2 {
		if err := d.touch(ctx, 1); err != nil {
			return err
		}
		version := d.server.ResourceVersion()
		if err := until(ctx, func() bool { return s.stops || d.loopHas(version) }); err != nil {
			return fmt.Errorf("version %s does not arrive at the loop: %w", version, err)
		}
	}
	if differs := d.copyDiffers(); differs != (differences{}) {
		return fmt.Errorf("the copy %s", differs)
	}
	return nil
}

// sleepUntil returns at a time, or the error of ctx if it ends first.
func sleepUntil(ctx context.Context, at time.Time) error {
	sleep, cancel := context.WithDeadline(ctx, at)
	defer cancel()
	<-sleep.Done()
	return ctx.Err()
}

// until waits for something that nobody tells of.
func until(ctx context.Context, is func() bool) error {
	for !is() {
		if err := sleepUntil(ctx, time.Now().Add(time.Millisecond)); err != nil {
			return err
		}
	}
	return nil
}
