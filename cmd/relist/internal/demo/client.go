package demo

import (
	"time"

	"github.com/relist-go/relist/cmd/relist/internal/churn"
	"github.com/relist-go/relist/cmd/relist/internal/mirror"
	"github.com/relist-go/relist/cmd/relist/internal/object"
	"github.com/relist-go/relist/cmd/relist/internal/report"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What production does in minutes, a demonstration does in seconds. introduce says so.
const (
	bookmarkPeriod   = 500 * time.Millisecond // a minute
	freshnessTimeout = 500 * time.Millisecond // 3 s
	readIdleTimeout  = time.Second            // 30 s
	pingTimeout      = time.Second            // 15 s
	backoffBase      = 50 * time.Millisecond  // 800 ms
	backoffCap       = 250 * time.Millisecond // 30 s
)

// connect makes the pipeline. HTTP/2, because only its pings find a connection that is
// silently dead.
func (d *demo) connect(url string) (*transport.Client, error) {
	client, err := transport.NewClient(transport.Config{
		Server:          url,
		Protocol:        transport.ProtocolHTTP2,
		ReadIdleTimeout: readIdleTimeout,
		PingTimeout:     pingTimeout,
		Dial:            d.network.dial,
	})
	if err != nil {
		return nil, err
	}
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: churn.Resource}
	source, err := listwatch.New(client, configMaps, listwatch.Options[*object.Object]{})
	if err != nil {
		return nil, err
	}
	d.pages = &pages{ListWatcher: source, limit: pageSize(d.opts.Objects), watcher: d.watcher}
	d.mirror = mirror.New(mirror.Options{
		Source: d.pages,
		Reflector: reflector.Options{
			BackoffBase: backoffBase,
			BackoffCap:  backoffCap,
			Trace:       d.watcher.trace(),
		},
		Report:  d.report,
		Applied: d.applied,
	})
	return client, nil
}

// report prints what a person can follow: not each of hundreds of changes a second.
func (d *demo) report(l report.Line) {
	switch l := l.(type) {
	case report.Delta:
		if !l.Inferred || !d.opts.Verbose && !d.watcher.fewInferred() {
			return
		}
	case report.Bookmark:
		if !d.opts.Verbose {
			return
		}
	}
	d.opts.Out.Print(l)
}

func (d *demo) introduce(url string) {
	d.opts.Out.Say("%d ConfigMaps on %s, two replicas, %v changes a second, seed %d.", d.opts.Objects, url, d.opts.Rate, d.opts.Seed)
	d.opts.Out.Say("To fit into %s, times are shorter than in production: pauses %s to %s (800ms to 30s),", d.opts.Duration, backoffBase, backoffCap)
	d.opts.Out.Say("pings after %s of silence (30s), bookmarks every %s (1m), a replica that is behind waits %s (3s).\n", readIdleTimeout, bookmarkPeriod, freshnessTimeout)
}
