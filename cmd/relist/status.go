package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/relist-go/relist/cmd/relist/internal/status"
)

// statusFlags are the flags of `relist mirror` that concern its status.
type statusFlags struct {
	listen       string
	hosts        []string
	maxStaleness time.Duration
}

func (f *statusFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.listen, "status-listen", "", "serve /status, /healthz, /readyz and /metrics on this `address`, such as 127.0.0.1:8081")
	flags.StringSliceVar(&f.hosts, "status-host", nil, "`name` that requests for the status may be for, besides addresses and localhost;\nmay be given several times")
	flags.DurationVar(&f.maxStaleness, "max-staleness", 0, "let /healthz fail while the copy is staler than this. An idle watch gets a bookmark each minute; if\nthe server sends no bookmarks, it gets nothing for up to 10m (default: any copy is fresh enough)")
}

func (f *statusFlags) check() error {
	switch {
	case f.maxStaleness < 0:
		return usage("--max-staleness %s: want a positive time", f.maxStaleness)
	case f.maxStaleness > 0 && f.listen == "":
		return usage("--max-staleness is for /healthz: choose an address for it with --status-listen")
	case len(f.hosts) > 0 && f.listen == "":
		return usage("--status-host is for the status: choose an address for it with --status-listen")
	case f.listen == "":
		return nil
	}
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return usage("--status-listen %q: want HOST:PORT, such as 127.0.0.1:8081", f.listen)
	}
	return nil
}

// statusDesk answers requests for the status of a mirror: a signal, or a request over
// HTTP.
type statusDesk struct {
	stderr  io.Writer
	hosts   []string
	server  *status.Server // nil without --status-listen
	signals <-chan os.Signal
	ignore  func()        // end signals
	closed  chan struct{} // to end the goroutine that waits for signals
	waiting sync.WaitGroup
}

// open opens the address and registers for the signals, so that the command fails at
// once if the address is in use. Requests that come before serve wait.
func (f *statusFlags) open(ctx context.Context, stderr io.Writer) (*statusDesk, error) {
	d := &statusDesk{stderr: stderr, hosts: f.hosts, closed: make(chan struct{})}
	if f.listen != "" {
		var err error
		if d.server, err = status.Listen(ctx, f.listen); err != nil {
			return nil, fmt.Errorf("%w; choose another address with --status-listen", err)
		}
	}
	d.signals, d.ignore = statusSignals()
	return d, nil
}

// serve starts to answer requests.
// The server, if there is one, serves the first view: check has seen to it that there is only one.
func (d *statusDesk) serve(views ...*status.View) {
	if d.server != nil {
		view := views[0]
		complain(d.stderr, "status on %s/status\n", d.server.URL())
		d.server.Serve(status.Local(view.Handler(), d.hosts), func(err error) { complain(d.stderr, "%s\n", oneLine(err)) })
	}
	d.waiting.Go(func() {
		for {
			select {
			case <-d.signals:
				for _, view := range views {
					complain(d.stderr, "%s", view.Now().Text())
				}
			case <-d.closed:
				return
			}
		}
	})
}

// close stops the desk and waits for its goroutine.
func (d *statusDesk) close() {
	d.ignore()
	close(d.closed)
	d.waiting.Wait()
	if d.server != nil {
		d.server.Close()
	}
}
