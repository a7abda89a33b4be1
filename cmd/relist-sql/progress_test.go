package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/reflector"
)

// The line at the bottom of a terminal.
func TestProgressLine(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(version string, unsure ...string) durable.State {
		return durable.State{Point: reflector.Point{Version: version, Unsure: unsure}}
	}
	watching := reflector.Status{State: reflector.Watching}
	away := reflector.Status{State: reflector.Waiting, FailingSince: now.Add(-35 * time.Second)}
	for _, tt := range []struct {
		total  int64
		status durable.Status
		want   string
	}{
		{-1, durable.Status{Reflector: reflector.Status{State: reflector.Listing}}, "listing"},
		{-1, durable.Status{Listed: 500}, "500 objects copied"},
		{0, durable.Status{Listed: 1}, "1 object copied"},
		{2000, durable.Status{Listed: 500}, "[#####...............] 500 of 2000 objects copied"},
		{400, durable.Status{Listed: 500}, "[####################] 500 objects copied"}, // more than the server has estimated
		{10, durable.Status{Reflector: watching, Committed: at("7")}, "watching, at 7"},
		{10, durable.Status{Reflector: watching, Committed: at("7\x1b", "a/b")}, `watching, at "7\x1b" with 1 unsure key`},
		{10, durable.Status{Reflector: watching, Committed: at("7"), Pending: 3, PendingSince: now.Add(-3 * time.Second)}, "watching, at 7, 3s behind"},
		{10, durable.Status{Committed: at("7"), FailingSince: now.Add(-90 * time.Second)}, "cannot be written for 1m30s"},
		{10, durable.Status{Reflector: away, Committed: at("7")}, "cannot be read from the server for 35s, at 7"},
		{10, durable.Status{Reflector: away}, "cannot be read from the server for 35s"},
		{10, durable.Status{Reflector: away, Listed: 5}, "[##########..........] 5 of 10 objects copied"},
	} {
		if got := (&target{total: tt.total}).line(tt.status, now); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.status, got, tt.want)
		}
	}
}

// The time that a list took is that of the list, not the time since the copy was opened.
func TestListTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		r := &mirrorRun{out: report.NewPrinter(&out, report.Options{})}
		trace := r.sinkTrace(&target{})
		trace.Opened(durable.State{})
		<-time.After(time.Hour)
		began := time.Now()
		trace.ListPart(3)
		<-time.After(2 * time.Second)
		trace.Commit(durable.Commit{Point: reflector.Point{Version: "7"}, List: true, Since: began})
		must.OK(t, r.out.Close())
		if got, want := out.String(), "3 objects at 7, took 2s\n"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
