package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/chart"
	"github.com/relist-go/relist/internal/must"
)

// What needs Go alone is measured in CI by a few faults that are soon over.
func TestGoClientsRecover(t *testing.T) {
	results, err := play(t.Context(), settings{
		home: ".", peers: "relist,client-go", faults: "start-refused,end,reset,garbage,http-410,undecodable-20s,refused-10s",
		runs: 1, parallel: 8, out: filepath.Join(t.TempDir(), "results"),
	}, t.Output())
	must.OK(t, err)
	if want := 3 * 7; len(results) != want {
		t.Errorf("%d results, want %d", len(results), want)
	}
	for _, r := range results {
		if r.Stale != "" {
			t.Errorf("%s: %s is %s: %s", r.Fault, r.Client, r.Stale, r.Said)
		}
		if r.Requests > 50 {
			t.Errorf("%s: %s has sent %d requests", r.Fault, r.Client, r.Requests)
		}
	}
}

// The server knows each address that -list prints. Most faults are made of these addresses.
func TestServerKnowsFaults(t *testing.T) {
	address := regexp.MustCompile(`\$F/([^\s,;)]+)`)
	for _, f := range faults {
		for _, m := range address.FindAllStringSubmatch(byHand(f.steps), -1) {
			if strings.Contains(m[1], "...") {
				continue // it depends on the state of the server
			}
			server := apitest.New(apitest.Options{})
			server.Replica("replica-1") // as relist serve --replicas 2 does
			if err := post(m[1]).do(t.Context(), &trial{world: &world{server: server}}); err != nil {
				t.Errorf("%s: %v", f.name, err)
			}
			if err := server.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// The page has each fault and each client, by the name that the driver gives it.
func TestPageIsUpToDate(t *testing.T) {
	text, err := os.ReadFile(page)
	must.OK(t, err)
	for _, f := range faults {
		if !strings.Contains(string(text), "\n| `"+f.name+"` | "+f.what+" | "+f.user+" |\n") {
			t.Errorf("the page lacks the fault %s, %q: run with -render FILE -update", f.name, f.what)
		}
	}
	for _, c := range clients {
		release, err := c.program.release(".")
		if err != nil {
			t.Error(err)
		}
		if !strings.Contains(string(text), "| "+c.label+" | "+c.program.library+" | "+release+" | ") {
			t.Errorf("the page lacks %s, %s %s: run again with -update", c.label, c.program.library, release)
		}
	}
}

// The picture shows the table of the page.
func TestPictureIsUpToDate(t *testing.T) {
	text, err := os.ReadFile(page)
	must.OK(t, err)
	drawn, err := os.ReadFile(picture)
	must.OK(t, err)
	if !bytes.Equal(drawn, drawSeconds(string(text))) {
		t.Errorf("%s does not show the table of %s: run with -render FILE -update", picture, page)
	}
	for _, f := range faults {
		if !strings.Contains(string(drawn), ">"+f.name+"<") {
			t.Errorf("%s lacks the fault %s", picture, f.name)
		}
	}
}

func TestHeat(t *testing.T) {
	for cell, want := range map[string]chart.Cell{
		"0.1 (12)":                   {Text: "0.1"},
		"3.0":                        {Text: "3.0"},
		"3.1":                        {Text: "3.1", Heat: 1},
		"457 (562)":                  {Text: "457", Heat: 4},
		"**stale**":                  {Text: "stale", Heat: chart.Never},
		"12; **stale** 1 of 3 times": {Text: "12", Heat: chart.Never},
	} {
		if got := heat(cell); got != want {
			t.Errorf("%q is drawn as %+v, want %+v", cell, got, want)
		}
	}
}

// A client that was asked for by name and does not exist, or cannot be built, is an error; others
// are left out.
func TestChoice(t *testing.T) {
	for _, s := range []settings{{peers: "relist,clientgo"}, {faults: "refused"}} {
		if _, err := choose(s); err == nil {
			t.Errorf("%+v is no error", s)
		}
	}
	c, err := choose(settings{peers: "kube-rs", faults: "end"})
	if err != nil || len(c.clients) != 2 || len(c.faults) != 1 {
		t.Errorf("chosen: %d clients and %d faults, %v; want both of kube-rs", len(c.clients), len(c.faults), err)
	}
	missing := client{name: "cobol", program: &program{folder: "cobol", tools: []string{"no-such-tool"}}}
	if _, err := build(t.Context(), ".", []client{missing}, true, io.Discard); err == nil {
		t.Error("what was asked for cannot be built, and nobody hears of it")
	}
	var said strings.Builder
	if _, err := build(t.Context(), ".", []client{missing}, false, &said); err == nil || !strings.Contains(said.String(), "LEFT OUT: cobol: needs no-such-tool") {
		t.Errorf("left out in silence: %v, %s", err, said.String())
	}
}

// The table has the median, the longest if it differs, and says how often a client did not recover.
func TestCells(t *testing.T) {
	for _, c := range []struct {
		cell cell
		want string
	}{
		{nil, ""},
		{cell{{Seconds: 1}, {Seconds: 6}, {Seconds: 2.04}}, "2.0 (6.0)"},
		{cell{{Seconds: 1}, {Seconds: 3}, {Seconds: 2.04}}, "2.0"},
		{cell{{Stale: died}, {Stale: died}}, "**died**"},
		{cell{{Stale: stale}, {Seconds: 12}, {Seconds: 12.3}}, "12; **stale** 1 of 3 times"},
	} {
		if got := c.cell.String(); got != c.want {
			t.Errorf("%v is shown as %q, want %q", []result(c.cell), got, c.want)
		}
	}
	if got := (cell{{Requests: 12}, {Requests: 109208}}).requests(); got != "109,208" {
		t.Errorf("requests: %s", got)
	}
}
