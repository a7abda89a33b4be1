package demo

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/cmd/relist/internal/churn"
	"github.com/relist-go/relist/cmd/relist/internal/mirror"
	"github.com/relist-go/relist/internal/cli/report"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// pace is how long things take.
type pace struct {
	bookmarks    time.Duration // period
	freshness    time.Duration // how long a replica that is behind waits
	idle, ping   time.Duration // silence before a ping, and the wait for its answer
	backoff, cap time.Duration // the first pause, and the longest
}

// showPace does in seconds what production does in minutes. introduce says so.
var showPace = pace{
	bookmarks: 500 * time.Millisecond, // a minute
	freshness: 500 * time.Millisecond, // 3 s
	idle:      time.Second,            // 30 s
	ping:      time.Second,            // 15 s
	backoff:   50 * time.Millisecond,  // 800 ms
	cap:       250 * time.Millisecond, // 30 s
}

// connect makes the pipeline. HTTP/2, because only its pings, and those of a WebSocket,
// find a connection that is silently dead.
func (d *demo) connect(url string) (*transport.Client, error) {
	client, err := transport.NewClient(transport.Config{
		Server:          url,
		Protocol:        transport.ProtocolHTTP2,
		WatchTransport:  d.opts.Transport,
		ReadIdleTimeout: d.pace.idle,
		PingTimeout:     d.pace.ping,
		Dial:            d.network.dial,
	})
	if err != nil {
		return nil, err
	}
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: churn.Resource}
	source, err := listwatch.New(client, configMaps, listwatch.Options[*listwatch.Raw]{})
	if err != nil {
		return nil, err
	}
	d.pages = &pages{ListWatcher: source, limit: pageSize(d.opts.Objects), watcher: d.watcher}
	d.mirror = mirror.New(mirror.Options{
		Source: d.pages,
		Reflector: reflector.Options{
			BackoffBase: d.pace.backoff,
			BackoffCap:  d.pace.cap,
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
	d.opts.Out.Say("To fit into %s, times are shorter than in production: pauses %s to %s (800ms to 30s),", d.opts.Duration, d.pace.backoff, d.pace.cap)
	d.opts.Out.Say("pings after %s of silence (30s), bookmarks every %s (1m), a replica that is behind waits %s (3s).\n", d.pace.idle, d.pace.bookmarks, d.pace.freshness)
}
