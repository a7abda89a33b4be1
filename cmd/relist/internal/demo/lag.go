package demo

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/internal/cli/report"
	"github.com/relist-go/relist/listwatch"
)

// lag measures how long changes take from the commit in the server to the store of the
// mirror.
type lag struct {
	committed func(resourceVersion string) (time.Time, bool)

	mu      sync.Mutex
	running bool
	since   time.Time
	all     []time.Duration
}

func newLag(committed func(string) (time.Time, bool)) *lag { return &lag{committed: committed} }

// start begins to measure.
func (l *lag) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = true
	l.since = time.Now()
}

// arrived notes that a version is in the store.
func (l *lag) arrived(resourceVersion string) {
	now := time.Now()
	committed, known := l.committed(resourceVersion)
	l.mu.Lock()
	defer l.mu.Unlock()
	// What is older was there before the mirror.
	if l.running && known && committed.After(l.since) {
		l.all = append(l.all, now.Sub(committed))
	}
}

// quantiles returns the lag that half, and 99 of 100, changes stay below. It is zero
// where there were no changes.
func (l *lag) quantiles() (p50, p99 time.Duration) {
	l.mu.Lock()
	sorted := slices.Clone(l.all)
	l.mu.Unlock()
	if len(sorted) == 0 {
		return 0, 0
	}
	slices.Sort(sorted)
	return sorted[len(sorted)/2], sorted[len(sorted)*99/100]
}

// applied is called by the mirror for every delta that is in the store.
func (d *demo) applied(delta deltafifo.Delta[*listwatch.Raw], before *listwatch.Raw) {
	rv := delta.Object.GetResourceVersion()
	if delta.Tombstone != nil {
		d.watcher.change(func(v *view) { v.tombstones++ }) // nobody knows when it was deleted
		return
	}
	listed := delta.Type == deltafifo.Replaced
	if !listed || before == nil || before.GetResourceVersion() != rv {
		d.lag.arrived(rv)
	}
	d.watcher.change(func(v *view) {
		v.reached(rv)
		if !listed {
			v.events++
		}
	})
}

// reached notes the newest version.
func (v *view) reached(version string) {
	if !v.has(version) {
		v.version = version
	}
}

// rate is events a second since start.
func (l *lag) rate(events int) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.running {
		return 0
	}
	perSecond := float64(events) / max(report.Seconds(time.Since(l.since)), 1e-3)
	return math.Round(perSecond*10) / 10
}
