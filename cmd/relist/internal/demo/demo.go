// Package demo mirrors an API server that misbehaves on purpose, and checks that the
// copy is right in the end.
//
// The server is apitest with two replicas, on loopback; the client is the pipeline of
// package mirror, as `relist mirror` runs it. A list of scenes breaks one thing after
// another. Each waits until the client has met the fault and is live again, so that a
// slow machine takes longer and misses nothing.
//
// Begin with Run, and scenes.go.
package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/relist/internal/churn"
	"github.com/relist-go/relist/cmd/relist/internal/mirror"
	"github.com/relist-go/relist/internal/cli/report"
	"github.com/relist-go/relist/transport"
)

// Options of a demonstration.
type Options struct {
	Objects  int           // ConfigMaps to begin with
	Duration time.Duration // how long it should take; it takes longer if the scenes do
	Rate     float64       // changes a second
	Seed     uint64        // of the changes
	Out      *report.Printer
	Verbose  bool // print bookmarks, and every inferred deletion

	// Transport is how watches travel.
	Transport transport.WatchTransport
}

// ErrFailed is the error of a demonstration that did not show what it should. The
// result, which was printed, says what.
var ErrFailed = errors.New("the demonstration did not succeed: see the result above")

// demo is one demonstration. The goroutine of Run owns what is not guarded by its type.
type demo struct {
	opts    Options
	pace    pace
	server  *apitest.Server
	behind  *apitest.Replica // the second replica
	network *network
	pages   *pages
	changes *churn.Churner
	watcher *watcher
	mirror  *mirror.Mirror
	lag     *lag
	faults  []report.FaultState
}

// Run shows every fault, compares, prints the result, and returns nil if the mirror
// matches and every fault was met.
func Run(ctx context.Context, opts Options) error { return run(ctx, opts, showPace) }

func run(ctx context.Context, opts Options, p pace) (err error) {
	d := &demo{opts: opts, pace: p, watcher: newWatcher(), network: newNetwork()}
	d.server = apitest.New(apitest.Options{BookmarkPeriod: p.bookmarks, FreshnessTimeout: p.freshness})
	d.lag = newLag(d.server.CommitTime)
	defer func() { err = errors.Join(err, d.server.Close()) }()
	d.behind = d.server.Replica("b")
	d.changes = churn.New(d.server, opts.Seed)
	if err := d.changes.Fill(opts.Objects); err != nil {
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
	d.introduce(listener.URL)

	// Three goroutines run beside this one, and end with ctx.
	ctx, stop := context.WithCancelCause(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop(nil)
	churning, calm := context.WithCancel(ctx)
	defer calm()
	var changing sync.WaitGroup
	beside.Go(func() { stop(d.mirror.Run(ctx)) })
	beside.Go(func() { d.showProgress(ctx) })
	changing.Go(func() {
		if err := d.changes.Run(churning, opts.Rate); err != nil {
			stop(err)
		}
	})
	defer changing.Wait()
	defer calm()

	err = d.play(ctx)
	calm()
	changing.Wait()
	if err == nil {
		err = d.settle(ctx)
	}
	// The result is the last line: a mirror that goes on would print a bookmark after it.
	stop(nil)
	beside.Wait()
	return d.conclude(err)
}

// play runs the scenes, spread over the duration.
func (d *demo) play(ctx context.Context) error {
	start := time.Now()
	if err := d.await(ctx, "the first list and watch", live); err != nil {
		return err
	}
	d.lag.start()
	all := scenes()
	d.faults = make([]report.FaultState, 0, len(all)+1)
	for i, s := range all {
		d.watcher.next(s.name)
		// The first scene begins after a share of the time, and one share is left at the end.
		due := start.Add(d.opts.Duration * time.Duration(i+1) / time.Duration(len(all)+2))
		if err := sleepUntil(ctx, due); err != nil {
			return err
		}
		if err := d.show(ctx, s); err != nil {
			return err
		}
	}
	d.watcher.next("")
	return sleepUntil(ctx, start.Add(d.opts.Duration))
}

// show runs one scene. A fault that is not met in time is noted, and the show goes on.
func (d *demo) show(ctx context.Context, s scene) error {
	if err := d.await(ctx, "a live watch", live); err != nil {
		return err
	}
	began := time.Now()
	d.opts.Out.Print(report.Fault{Name: s.name, Message: s.message})
	note, err := s.run(ctx, d)
	if err == nil {
		err = d.catchUp(ctx)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	took := report.Seconds(time.Since(began))
	d.faults = append(d.faults, report.FaultState{Name: s.name, Met: err == nil, Seconds: took})
	if err != nil {
		d.opts.Out.Print(report.Problem{Class: "demo", Message: s.name + ": " + err.Error()})
		return d.restore() //nolint:contextcheck // opening a local port takes no time that ctx could end
	}
	d.opts.Out.Print(report.Recovered{Name: s.name, Seconds: took, Message: note})
	return nil
}

// restore ends what a scene that failed may have left behind.
func (d *demo) restore() error {
	d.pages.afterFirst(nil)
	d.behind.Unfreeze()
	if err := d.server.Resume(); err != nil {
		return fmt.Errorf("end the fault: %w", err)
	}
	return nil
}

// catchUp makes a change and waits until it has come through, and everything before it.
func (d *demo) catchUp(ctx context.Context) error {
	rv, err := d.changes.Touch(1)
	if err != nil {
		return err
	}
	return d.await(ctx, "version "+rv+" to arrive", func(v view) bool { return live(v) && v.has(rv) && d.mirror.Pending() == 0 })
}

// sleepUntil returns at a time, or the cause if ctx ends first.
func sleepUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
