package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/cmd/relist/internal/mirror"
)

// statusLinePeriod is short enough to look alive.
const statusLinePeriod = 500 * time.Millisecond

// showStatusLine keeps the last line of a terminal up to date until ctx ends.
func showStatusLine(ctx context.Context, out *report.Printer, targets []*target) {
	ticker := time.NewTicker(statusLinePeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			out.Progress("")
			return
		case <-ticker.C:
			out.Progress(statusLine(targets, time.Now()))
		}
	}
}

// statusLine says in which state the mirrors are.
func statusLine(targets []*target, now time.Time) string {
	var parts []string
	for _, t := range targets {
		s := t.mirror.Status()
		text := fmt.Sprintf("%s, %d objects", s.State, t.mirror.Store().Len())
		if label := strings.TrimSpace(t.label); label != "" {
			text = label + " " + text
		}
		switch {
		case !s.FailingSince.IsZero() && s.LastError != nil:
			text += fmt.Sprintf(", failing for %s", roughly(now.Sub(s.FailingSince)))
			if why := mirror.Cause(s.LastError); why != "" {
				text += ": " + why
			}
		case s.ResourceVersion != "":
			text += " at " + report.Word(s.ResourceVersion)
			if !s.LastEvent.IsZero() {
				text += fmt.Sprintf(", last event %s ago", roughly(now.Sub(s.LastEvent)))
			}
		}
		parts = append(parts, text)
	}
	return "  " + strings.Join(parts, "; ")
}

// roughly is a time in whole seconds.
func roughly(d time.Duration) time.Duration { return max(0, d.Round(time.Second)) }
