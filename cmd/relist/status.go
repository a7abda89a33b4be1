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
	maxStaleness time.Duration
}

func (f *statusFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.listen, "status-listen", "", "serve /status, /healthz and /readyz on this `address`, such as 127.0.0.1:8081")
	flags.DurationVar(&f.maxStaleness, "max-staleness", 0, "let /healthz fail when the copy is staler. Idle watches hear a bookmark a minute; where the\nserver sends none, nothing for up to 10m (default: any copy is fresh enough)")
}

func (f *statusFlags) check() error {
	switch {
	case f.maxStaleness < 0:
		return usage("--max-staleness %s: want a positive time", f.maxStaleness)
	case f.maxStaleness > 0 && f.listen == "":
		return usage("--max-staleness is what /healthz goes by: say where to serve it with --status-listen")
	case f.listen == "":
		return nil
	}
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return usage("--status-listen %q: want HOST:PORT, such as 127.0.0.1:8081", f.listen)
	}
	return nil
}

// statusDesk is where one can ask for the status of a mirror: by a signal, and over HTTP.
type statusDesk struct {
	stderr  io.Writer
	server  *status.Server // nil if nobody wants it
	signals <-chan os.Signal
	ignore  func()        // end signals
	closed  chan struct{} // to end the goroutine that waits for signals
	waiting sync.WaitGroup
}

// open takes the address and the signals, so that an address that is taken is known
// before anything else is tried. Who asks early waits until serve.
func (f *statusFlags) open(ctx context.Context, stderr io.Writer) (*statusDesk, error) {
	d := &statusDesk{stderr: stderr, closed: make(chan struct{})}
	if f.listen != "" {
		var err error
		if d.server, err = status.Listen(ctx, f.listen); err != nil {
			return nil, fmt.Errorf("%w; choose another address with --status-listen", err)
		}
	}
	d.signals, d.ignore = statusSignals()
	return d, nil
}

// serve begins to answer.
func (d *statusDesk) serve(view *status.View) {
	if d.server != nil {
		complain(d.stderr, "status on %s/status\n", d.server.URL())
		d.server.Serve(view.Handler(), func(err error) { complain(d.stderr, "%s\n", oneLine(err)) })
	}
	d.waiting.Go(func() {
		for {
			select {
			case <-d.signals:
				complain(d.stderr, "%s", view.Now().Text())
			case <-d.closed:
				return
			}
		}
	})
}

// close ends it. No goroutine of it is left.
func (d *statusDesk) close() {
	d.ignore()
	close(d.closed)
	d.waiting.Wait()
	if d.server != nil {
		d.server.Close()
	}
}
