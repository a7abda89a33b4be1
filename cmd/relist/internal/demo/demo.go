// Package demo mirrors an API server that misbehaves on purpose, and checks that the copy is right
// in the end.
//
// The server is apitest with two replicas, on loopback. The client is an informer, made as any
// program makes one. A list of scenes breaks one thing after another. Each waits until the client
// has met the fault, and has what was changed after it, so that a slow machine takes longer and
// misses nothing.
//
// Begin with Run, and scenes.go.
package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/cmd/relist/internal/churn"
	"github.com/relist-go/relist/cmd/relist/internal/mirror"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
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
)

// demo is one demonstration.
type demo struct {
	out     *report.Printer
	server  *apitest.Server
	behind  *apitest.Replica // the second replica
	changes *churn.Churner
	cache   *informer.Informer[*unstructured.Unstructured]
	told    *informer.Registration // of deletions
	tally   tally
	printed atomic.Int64 // so many deletions that no event told of may be printed
	states  []report.Row // of the scenes
	missed  bool         // a fault was not met
}

// Run shows every fault, compares, prints the result, and returns nil if the copy matches and every
// fault was met. It takes as long as it is given, or longer if the faults do.
func Run(ctx context.Context, duration time.Duration, out *report.Printer) (err error) {
	d := &demo{out: out, tally: tally{counts: map[string]int{}}}
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
	out.Say("%d ConfigMaps on %s, two replicas, %d changes a second.", objects, listener.URL, rate)
	out.Say("To fit into %s, times are shorter than in production: delays %s to %s (800ms to 30s),", duration, shortestWait, longestWait)
	out.Say("pings after %s of idle time (30s), bookmarks every %s (1m), a replica that is behind waits %s (3s).\n", idle, bookmarks, freshness)

	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { _ = d.cache.Run(ctx) }) // it returns the error of ctx
	churning, calm := context.WithCancel(ctx)
	defer calm()
	changed := make(chan error, 1)
	go func() { changed <- d.changes.Run(churning, rate) }()
	err = d.play(ctx, duration)
	calm()
	if err := errors.Join(err, <-changed); err != nil {
		return err
	}
	late, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = d.cache.WaitForVersion(late, d.server.ResourceVersion()) // what is missing then is told below
	stop()
	running.Wait() // the result comes last
	return d.conclude()
}

// connect makes the client. HTTP/2, because only its pings, and those of a WebSocket, find a
// connection that is silently dead.
func (d *demo) connect(url string) (*transport.Client, error) {
	client, err := transport.NewClient(transport.Config{
		Server:          url,
		Protocol:        transport.ProtocolHTTP2,
		ReadIdleTimeout: idle,
		PingTimeout:     idle,
	})
	if err != nil {
		return nil, err
	}
	source, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: churn.Resource}, listwatch.Options[*unstructured.Unstructured]{})
	if err != nil {
		return nil, err
	}
	lines := mirror.Lines(d.out.Print)
	lines.Bookmark = nil // too many to follow
	d.cache = informer.New(source, informer.Options[*unstructured.Unstructured]{
		Logger: slog.New(slog.DiscardHandler), // the lines say the same
		Reflector: reflector.Options{
			BackoffBase: shortestWait,
			BackoffCap:  longestWait,
			Trace:       reflector.JoinTraces(lines, d.tally.trace()),
		},
	})
	d.told, err = d.cache.AddHandler(informer.Handler[*unstructured.Unstructured]{OnDelete: func(o *unstructured.Unstructured, inferred bool) {
		if inferred && int64(d.tally.add(inferredDeletions)) <= d.printed.Load() {
			d.out.Print(report.Delta{Type: "Deleted", Key: object.Key(o), ResourceVersion: o.GetResourceVersion(), Inferred: true})
		}
	}})
	return client, err
}

// play runs the scenes, spread over the duration.
func (d *demo) play(ctx context.Context, duration time.Duration) error {
	start := time.Now()
	if err := errors.Join(d.cache.WaitForSync(ctx), d.server.WaitForWatches(ctx, churn.Resource, 1)); err != nil {
		return err
	}
	held := d.cache.Store()
	d.out.Print(report.Synced{Objects: held.Len(), ResourceVersion: held.ResourceVersion(), Seconds: report.Seconds(time.Since(start))})
	for i, s := range scenes {
		d.out.Progress(fmt.Sprintf("  %d objects, next: %s", held.Len(), s.name))
		// The first scene begins after a share of the time, and one share is left at the end.
		if err := sleepUntil(ctx, start.Add(duration*time.Duration(i+1)/time.Duration(len(scenes)+2))); err != nil {
			return err
		}
		if d.show(ctx, s); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	d.out.Progress("")
	return sleepUntil(ctx, start.Add(duration))
}

// show runs one scene. A fault that is not met in time is noted, and the show goes on.
func (d *demo) show(ctx context.Context, s scene) {
	began := time.Now()
	d.printed.Store(int64(d.tally.count(inferredDeletions) + 3))
	d.out.Print(report.Fault{Name: s.name, Message: s.message})
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := s.run(ctx, d)
	d.behind.Unfreeze()
	d.server.ClearFaults()
	if err == nil {
		err = d.touch(ctx, 1)
	}
	if err != nil {
		d.missed = true
		d.states = append(d.states, report.Row{Name: s.name, Value: "NOT MET"})
		d.out.Print(report.Problem{Class: "demo", Message: s.name + ": " + err.Error()})
		return
	}
	took := report.Seconds(time.Since(began))
	d.states = append(d.states, report.Row{Name: s.name, Value: "met, live again after " + report.Short(took)})
	d.out.Print(report.Recovered{Name: s.name, Seconds: took, Message: s.repaired})
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
	if err := until(ctx, func() bool { return d.told.Pending() == 0 }); err != nil {
		return err
	}
	return d.server.WaitForWatches(ctx, churn.Resource, 1)
}

// conclude compares, prints the result, and returns an error unless all is well.
func (d *demo) conclude() error {
	items, _, err := d.server.List(churn.Resource, "") // from its memory: a mistake of the client cannot be in both
	if err != nil {
		return fmt.Errorf("read the server's objects: %w", err)
	}
	matches := len(items) == d.cache.Store().Len()
	for _, item := range items {
		want := &unstructured.Unstructured{Object: item}
		have, held := d.cache.Store().Get(object.Key(want))
		matches = matches && held && have.GetUID() == want.GetUID() && have.GetResourceVersion() == want.GetResourceVersion()
	}
	var counts []report.Row
	for _, name := range []string{lists, watches, events, cuts, refused, inStream, toWatch, toList, toToken, tooLarge, inferredDeletions} {
		counts = append(counts, report.Row{Name: name, Value: fmt.Sprint(d.tally.count(name))})
	}
	d.out.Say("%s\n%s\n", report.FormatRows(d.states), report.FormatRows(counts))
	if matches {
		d.out.Say("mirror matches the server")
	} else {
		d.out.Say("mirror DOES NOT match the server")
	}
	if d.missed || !matches {
		return errors.New("the demonstration did not succeed: see the result above")
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

// What is counted: what the client meets, what the server refuses, and how often both speak.
const (
	cuts              = "cut watches"
	refused           = "refused connections"
	inStream          = "410 in a stream"
	toWatch           = "410 to a watch"
	toList            = "410 to a list"
	toToken           = "410 to a continue token"
	tooLarge          = "Too large"
	inferredDeletions = "inferred deletions"
	lists             = "lists"
	watches           = "watches"
	events            = "events"
)

// tally counts.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (t *tally) add(name string) (count int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[name]++
	return t.counts[name]
}

func (t *tally) count(name string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[name]
}

// trace counts what the reflector tells.
func (t *tally) trace() *reflector.Trace {
	var open bool // the present watch was answered; owned by the reflector's goroutine
	return &reflector.Trace{
		ListDone: func(l reflector.ListDone) {
			if l.Err == nil {
				t.add(lists)
			}
		},
		WatchStart: func(reflector.WatchStart) { open = false; t.add(watches) },
		WatchOpen:  func() { open = true },
		Event:      func(reflector.Event) { t.add(events) },
		WatchEnd: func(e reflector.WatchEnd) {
			switch {
			case e.Reason == protocol.ConnectionLost:
				t.add(cuts)
			case e.Reason == protocol.Unreachable:
				t.add(refused)
			case e.Reason == protocol.Expired && open:
				t.add(inStream)
			}
		},
	}
}

// answered counts what the server refuses.
func (t *tally) answered(r apitest.LoggedRequest) {
	switch expired := r.Status == http.StatusGone; {
	case r.Status == http.StatusGatewayTimeout:
		t.add(tooLarge)
	case expired && strings.Contains(r.URI, "watch="):
		t.add(toWatch)
	case expired && strings.Contains(r.URI, "continue="):
		t.add(toToken)
	case expired:
		t.add(toList)
	}
}
