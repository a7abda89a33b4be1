package demo

import (
	"context"
	"fmt"
	"time"
)

// progressPeriod is short enough to look alive.
const progressPeriod = 200 * time.Millisecond

// showProgress keeps the last line of a terminal up to date until ctx ends.
func (d *demo) showProgress(ctx context.Context) {
	ticker := time.NewTicker(progressPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		d.opts.Out.Progress(d.progress())
	}
}

func (d *demo) progress() string {
	v, _ := d.watcher.now()
	state := "live"
	switch {
	case !v.synced:
		state = "listing"
	case !v.watching:
		state = "away"
	}
	p50, _ := d.lag.quantiles()
	text := fmt.Sprintf("  %-7s  %d objects, %d events, %.0f/s, lag %s", state, d.mirror.Store().Len(), v.events, d.lag.rate(v.events), p50.Round(10*time.Microsecond))
	if v.scene != "" {
		text += ", next: " + v.scene
	}
	return text
}
