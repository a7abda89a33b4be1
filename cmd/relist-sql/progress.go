package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/internal/visible"
	"github.com/relist-go/relist/reflector"
)

const (
	// progressPeriod is short enough to look alive.
	progressPeriod = 250 * time.Millisecond

	// linePeriod is how often a first copy is told of where no line can be kept up to date.
	linePeriod = 10 * time.Second
)

func (r *mirrorRun) say(t *target, format string, args ...any) {
	r.out.Say("%s%s", t.pad(labelWidth(r.targets)), visible.OneLine(fmt.Sprintf(format, args...)))
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// sinkTrace turns what the mirror of a target tells into lines and counts.
func (r *mirrorRun) sinkTrace(t *target) *durable.Trace {
	listed := 0
	return &durable.Trace{
		ListPart: func(objects int) { listed = objects },
		Opened: func(s durable.State) {
			if s.Point.Version != "" && !t.failing.Load() {
				r.say(t, "continues at %s%s", report.Word(s.Point.Version), withUnsure(unsure(s.Point)))
			}
		},
		Commit: func(c durable.Commit) {
			t.commits.Add(1)
			if !c.Part {
				t.failing.Store(false)
			}
			if c.List && c.Point.Version != "" {
				r.say(t, "%s at %s%s, took %s", report.Count(listed, "object"), report.Word(c.Point.Version), withUnsure(unsure(c.Point)), report.Short(time.Since(c.Since).Seconds()))
				listed = 0
			}
		},
		Failed: func(durable.Failure) {
			t.commitFailures.Add(1)
			t.failing.Store(true)
		},
	}
}

func (r *mirrorRun) conclude(t *target) {
	s := t.mirror.Status()
	if s.Committed.Epoch == 0 {
		r.say(t, "was not opened, and is as it was")
		return
	}
	if s.Committed.Point.Version == "" {
		r.say(t, "the first copy is not whole; the next start continues with it")
		return
	}
	r.say(t, "stopped at %s%s, %s written", report.Word(s.Committed.Point.Version), withUnsure(unsure(s.Committed.Point)), report.Count(int(s.Changes), "row"))
}

// awaitCurrent waits until every copy is what the server had when the command was started.
func (r *mirrorRun) awaitCurrent(ctx context.Context) bool {
	ticker := time.NewTicker(progressPeriod / 10)
	defer ticker.Stop()
	for _, t := range r.targets {
		for !t.current() {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return false
			}
		}
	}
	return true
}

// showProgress keeps the last line of a terminal up to date until ctx ends. Where there is no such
// line, it prints one about each first copy now and then.
func (r *mirrorRun) showProgress(ctx context.Context) {
	ticker := time.NewTicker(progressPeriod)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			r.out.Progress("")
			return
		case now := <-ticker.C:
			r.out.Progress(r.line(now))
			if now.Sub(last) < linePeriod || r.live {
				continue
			}
			last = now
			for _, t := range r.targets {
				if s := t.mirror.Status(); s.Listed > 0 {
					r.say(t, "%s", copied(s.Listed, t.total))
				}
			}
		}
	}
}

// line says in which state the copies are.
func (r *mirrorRun) line(now time.Time) string {
	var parts []string
	for _, t := range r.targets {
		text := t.line(t.mirror.Status(), now)
		if len(r.targets) > 1 {
			text = t.label + " " + text
		}
		parts = append(parts, text)
	}
	return "  " + strings.Join(parts, "; ")
}

func (t *target) line(s durable.Status, now time.Time) string {
	switch {
	case !s.FailingSince.IsZero():
		return fmt.Sprintf("cannot be written for %s", now.Sub(s.FailingSince).Round(time.Second))
	case s.Listed > 0:
		return bar(s.Listed, t.total) + copied(s.Listed, t.total)
	}
	state := s.Reflector.State.String()
	if since := s.Reflector.FailingSince; !since.IsZero() {
		state = fmt.Sprintf("cannot be read from the server for %s", now.Sub(since).Round(time.Second))
	}
	if s.Committed.Point.Version == "" {
		return state
	}
	text := fmt.Sprintf("%s, at %s%s", state, report.Word(s.Committed.Point.Version), withUnsure(unsure(s.Committed.Point)))
	if lag := s.Lag(now); lag > time.Second {
		text += fmt.Sprintf(", %s behind", lag.Round(time.Second))
	}
	return text
}

// bar is a picture of how much of a list has come, or nothing if nobody knows how much there is.
func bar(n int, total int64) string {
	const width = 20
	if total <= 0 {
		return ""
	}
	full := int(min(int64(n), total) * width / total)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "] "
}

// copied says how much of a list has come. There may be more than the server has estimated.
func copied(n int, total int64) string {
	if total < int64(n) {
		return report.Count(n, "object") + " copied"
	}
	return fmt.Sprintf("%d of %s copied", n, report.Count(int(total), "object"))
}

// unsure is the number of keys whose rows may be wrong.
func unsure(p reflector.Point) int { return len(p.Unsure) + p.MoreUnsure }

func withUnsure(n int) string {
	if n == 0 {
		return ""
	}
	return " with " + report.Count(n, "unsure key")
}
