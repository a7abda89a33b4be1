package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/relist-go/relist/cmd/internal/cli/connect"
	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/reflector"
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
		text := stateLine(t.mirror.Status(), t.mirror.Store().Len(), now)
		if label := strings.TrimSpace(t.label); label != "" {
			text = label + " " + text
		}
		parts = append(parts, text)
	}
	return "  " + strings.Join(parts, "; ")
}

// stateLine says in which state a mirror is. If it fails, the reason comes first, because the end
// of the line may be cut off.
func stateLine(s reflector.Status, objects int, now time.Time) string {
	text := fmt.Sprintf("%s, %d objects", s.State, objects)
	switch {
	case !s.FailingSince.IsZero() && s.LastError != nil:
		failing := fmt.Sprintf("failing for %s", roughly(now.Sub(s.FailingSince)))
		if why := connect.Cause(s.LastError); why != "" {
			failing += ": " + why
		}
		text = failing + ", " + text
	case s.ResourceVersion != "":
		text += " at " + report.Word(s.ResourceVersion)
		if !s.LastEvent.IsZero() {
			text += fmt.Sprintf(", last event %s ago", roughly(now.Sub(s.LastEvent)))
		}
	}
	return text
}

// roughly is a time in whole seconds.
func roughly(d time.Duration) time.Duration { return max(0, d.Round(time.Second)) }
