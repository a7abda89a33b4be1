package status

import (
	"fmt"
	"time"

	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/internal/visible"
)

// Text is the status for people: a headline, and a table that ends with a newline.
func (s Status) Text() string {
	rows := []report.Row{{Name: "health", Value: s.health()}, {Name: "state", Value: s.state()}}
	add := func(name, value string) { rows = append(rows, report.Row{Name: name, Value: value}) }
	add("objects", fmt.Sprintf("%d, pending %d", s.Objects, s.Pending))
	if s.ResourceVersion != "" {
		add("resourceVersion", report.Word(s.ResourceVersion))
	}
	if s.StalenessSeconds != nil {
		add("staleness", s.staleness())
	}
	for _, last := range []struct {
		name string
		at   time.Time
	}{{"last byte", s.LastByte}, {"last event", s.LastEvent}, {"last bookmark", s.LastBookmark}, {"failing since", s.FailingSince}} {
		if !last.at.IsZero() {
			add(last.name, s.ago(last.at))
		}
	}
	if s.LastError != "" {
		add("last error", s.ago(s.LastErrorTime)+visible.OneLine(s.cause))
	}
	for _, q := range s.Quarantined {
		add("quarantined", s.patient(q))
	}
	return fmt.Sprintf("status of %s from %s%s\n", s.Resource, s.Server, report.FormatRows(rows))
}

func (s Status) health() string {
	if s.Healthy {
		return "ok"
	}
	return "NOT OK: " + visible.OneLine(s.Reason)
}

func (s Status) state() string {
	text := s.State
	if !s.Since.IsZero() {
		text += " for " + span(s.Time.Sub(s.Since))
	}
	if !s.NextRetry.IsZero() {
		text += ", next retry in " + span(max(0, s.NextRetry.Sub(s.Time)))
	}
	return text
}

func (s Status) staleness() string {
	text := span(seconds(*s.StalenessSeconds))
	if s.MaxStalenessSeconds > 0 {
		text += " of " + span(seconds(s.MaxStalenessSeconds))
	}
	return text
}

func (s Status) patient(q Quarantined) string {
	text := report.Word(q.Key)
	if q.ResourceVersion != "" {
		text += " at " + report.Word(q.ResourceVersion)
	}
	text += ", " + s.ago(q.Since)
	if !q.NextTry.IsZero() {
		text += ", next try in " + span(max(0, q.NextTry.Sub(s.Time)))
	}
	return text + ": " + visible.OneLine(q.Error)
}

// ago is a time as it is seen from that of the status.
func (s Status) ago(at time.Time) string { return span(s.Time.Sub(at)) + " ago" }

func seconds(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }
