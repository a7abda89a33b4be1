package demo

import (
	"bytes"
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/cmd/relist/internal/churn"
	"github.com/relist-go/relist/docs/incidents/naive"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
)

// printed returns what run prints.
func printed(t *testing.T, opts report.Options, run func(*report.Printer)) string {
	t.Helper()
	var out bytes.Buffer
	p := report.NewPrinter(&out, opts)
	run(p)
	must.OK(t, p.Close())
	return out.String()
}

// idleDemo is a demonstration whose clients do not run.
func idleDemo(t *testing.T) *demo {
	server := apitest.New(apitest.Options{})
	t.Cleanup(func() { server.Close() })
	return &demo{
		opts: Options{Columns: 80}, server: server, behind: server.Replica("b"), changes: churn.New(server, 1),
		cache: informer.New[*configMap](nil, informer.Options[*configMap]{}), loop: naive.Live("", "", 0),
		tally: tally{counts: map[string]int{}},
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := printed(t, report.Options{}, func(p *report.Printer) {
		if err := Run(ctx, Options{Duration: time.Hour, Columns: 80}, p); err == nil {
			t.Error("no error")
		}
	})
	if strings.Contains(out, "match") {
		t.Errorf("the result gives a verdict:\n%s", out)
	}
}

// A fault that does not come about is a failure of the whole, and so is an object that the copy
// lacks.
func TestFailures(t *testing.T) {
	d := idleDemo(t)
	conclude := func() string {
		return printed(t, report.Options{}, func(p *report.Printer) {
			d.out = p
			if err := d.conclude(); err == nil {
				t.Error("no error")
			}
		})
	}
	d.failed = true
	if out := conclude(); !strings.HasSuffix(out, "\nrelist's copy matches the server\n") {
		t.Errorf("the result ends with\n%s", out)
	}
	must.OK(t, d.changes.Fill(1))
	d.failed = false
	if out := conclude(); !strings.HasSuffix(out, "\nrelist's copy DOES NOT match the server\n") || !strings.Contains(out, "relist's copy: lacks 1, after") {
		t.Errorf("the result ends with\n%s", out)
	}
}

// A scene that the client does not meet is noted, and so is one after which it lacks something.
func TestNotMet(t *testing.T) {
	nothing := func(context.Context, *demo) error { return nil }
	for want, run := range map[string]step{"connectionLost: there are no more than 0": meet("connectionLost", nothing), "context canceled": nothing} {
		d := idleDemo(t)
		must.OK(t, d.changes.Fill(1))
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // its time is over
		out := printed(t, report.Options{}, func(p *report.Printer) {
			d.out = p
			d.show(ctx, 3, scene{server: "rests", run: run}, d.change(ctx))
		})
		if !d.failed || !strings.Contains(out, "fault 3 is NOT MET: ") || !strings.Contains(out, want) {
			t.Errorf("want %q in:\n%s", want, out)
		}
	}
}

func TestCompare(t *testing.T) {
	server := map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"}
	held := maps.Clone(server)
	if d := compare(held, server); d.String() != "all right" {
		t.Errorf("a copy differs: %s", d)
	}
	delete(held, "a")
	held["b"], held["c"], held["gone"] = "1", "9", "8"
	if got, want := compare(held, server).String(), "keeps 1 deleted, lacks 1, 2 old"; got != want {
		t.Errorf("it %s, want %s", got, want)
	}
}

// Lines stay within the terminal, and painted or not they say the same.
func TestNarrow(t *testing.T) {
	d := idleDemo(t)
	for _, tt := range []struct {
		columns int
		color   bool
		want    string
	}{
		{76, false, "  relist                    fresh in  the simple loop\n" +
			"1 The server shows the longest line that a terminal of 80 columns holds.\n" +
			"  helps itself                 120ms  keeps 1 deleted\n" +
			"  helps itself                 12.3s  all right\n"},
		{40, false, "1 The server shows the longest line that\n" +
			"  a terminal of 80 columns holds.\n" +
			"  relist, fresh in 120ms: helps itself\n" +
			"  the loop: keeps 1 deleted\n" +
			"  relist, fresh in 12.3s: helps itself\n" +
			"  the loop: all right\n"},
		{76, true, "  relist                    fresh in  the simple loop\n" +
			"\x1b[1m1 The server shows the longest line that a terminal of 80 columns holds.\x1b[0m\n" +
			"\x1b[32m  helps itself                 120ms  \x1b[0m\x1b[35mkeeps 1 deleted\x1b[0m\n" +
			"\x1b[32m  helps itself                 12.3s  \x1b[0mall right\n"},
	} {
		d.opts.Columns = tt.columns
		s := scene{server: "shows the longest line that a terminal of 80 columns holds", client: "helps itself"}
		out := printed(t, report.Options{Color: tt.color}, func(p *report.Printer) {
			d.out = p
			d.introduce()
			d.say(report.Bold, "%d The server %s.", 1, s.server)
			d.result(s, 120*time.Millisecond, differences{deleted: 1})
			d.result(s, 12300*time.Millisecond, differences{})
		})
		_, out, _ = strings.Cut(out, "\n\n") // the introduction
		if out != tt.want {
			t.Errorf("%d columns:\n%s\nwant:\n%s", tt.columns, out, tt.want)
		}
	}
}
