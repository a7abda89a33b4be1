package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/internal/cli/web"
	"github.com/relist-go/relist/cmd/relist/internal/status"
)

// statusDesk answers requests for the status of a mirror: a signal, or a request over
// HTTP.
type statusDesk struct {
	stderr  io.Writer
	hosts   []string
	server  *web.Server // nil without --status-listen
	signals <-chan os.Signal
	ignore  func()        // end signals
	closed  chan struct{} // to end the goroutine that waits for signals
	waiting sync.WaitGroup
}

// openDesk opens the address and registers for the signals, so that the command fails at
// once if the address is in use. Requests that come before serve wait.
func openDesk(ctx context.Context, f cli.StatusFlags, stderr io.Writer) (*statusDesk, error) {
	d := &statusDesk{stderr: stderr, hosts: f.Hosts, closed: make(chan struct{})}
	if f.Listen != "" {
		var err error
		if d.server, err = web.Listen(ctx, f.Listen); err != nil {
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
		cli.Complain(d.stderr, "status on %s/status\n", d.server.URL())
		d.server.Serve(web.Local(view.Handler(), d.hosts), func(err error) { cli.Complain(d.stderr, "%s\n", cli.OneLine(err)) })
	}
	d.waiting.Go(func() {
		for {
			select {
			case <-d.signals:
				for _, view := range views {
					cli.Complain(d.stderr, "%s", view.Now().Text())
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
