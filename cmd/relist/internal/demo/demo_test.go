package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/relist/internal/churn"
	"github.com/relist-go/relist/cmd/relist/internal/mirror"
	"github.com/relist-go/relist/internal/cli/report"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// testPace is quicker than a person could follow. Pings keep some time: a machine that
// is busy must not look like a connection that is dead.
var testPace = pace{
	bookmarks: 100 * time.Millisecond,
	freshness: 100 * time.Millisecond,
	idle:      300 * time.Millisecond,
	ping:      time.Second,
	backoff:   5 * time.Millisecond,
	cap:       25 * time.Millisecond,
}

// The scenes do not depend on the churn: they make the changes that they need.
func TestRun(t *testing.T) {
	for name, opts := range map[string]Options{
		"quiet":          {},
		"busy":           {Rate: 300},
		"over WebSocket": {Rate: 100, Transport: transport.WatchWebSocket},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time is spent waiting
			var out bytes.Buffer
			p := report.NewPrinter(&out, report.Options{Format: report.JSON})
			opts.Objects, opts.Seed, opts.Out, opts.Verbose = 40, 3, p, true
			err := run(t.Context(), opts, testPace)
			if closeErr := p.Close(); closeErr != nil {
				t.Fatal(closeErr)
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			checkResult(t, out.String())
		})
	}
}

func checkResult(t *testing.T, out string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var result struct {
		Kind string
		report.Result
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &result); err != nil {
		t.Fatal(err)
	}
	if result.Kind != "result" || !result.Matches || result.Expired < 5 || result.TooLarge != 1 || result.Tombstones < unseen {
		t.Errorf("result = %+v", result)
	}
	if len(result.Faults) != len(scenes()) {
		t.Errorf("%d faults, want %d", len(result.Faults), len(scenes()))
	}
	for _, f := range result.Faults {
		if !f.Met {
			t.Errorf("%s was not met", f.Name)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	p := report.NewPrinter(&out, report.Options{})
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, Options{Objects: 40, Duration: time.Hour, Rate: 100, Seed: 3, Out: p}) }()
	cancel()
	err := <-ended
	if closeErr := p.Close(); closeErr != nil {
		t.Fatal(closeErr)
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	if text := out.String(); !strings.Contains(text, "not come to") || strings.Contains(text, "match") {
		t.Errorf("the result does not say that it was interrupted, or gives a verdict:\n%s", text)
	}
}

// differences must be able to fail.
func TestDifferences(t *testing.T) {
	server := store.New(store.Options[*unstructured.Unstructured]{})
	copied := store.New(store.Options[*listwatch.Raw]{})
	put := func(key, uid, rv string, in ...string) {
		data := []byte(`{"metadata":{"name":"` + key + `","uid":"` + uid + `","resourceVersion":"` + rv + `"}}`)
		for _, where := range in {
			switch where {
			case "server":
				u := &unstructured.Unstructured{}
				if err := json.Unmarshal(append(data[:len(data)-1], `,"kind":"ConfigMap","apiVersion":"v1"}`...), u); err != nil {
					t.Fatal(err)
				}
				if err := server.Add(u); err != nil {
					t.Fatal(err)
				}
			case "mirror":
				o, err := listwatch.ParseRaw(data)
				if err != nil {
					t.Fatal(err)
				}
				if err := copied.Add(o); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	put("same", "u", "1", "mirror", "server")
	put("missing", "u", "1", "server")
	put("ghost", "u", "1", "mirror")
	put("old", "u", "1", "mirror")
	put("old", "u", "2", "server")
	put("remade", "u1", "3", "mirror")
	put("remade", "u2", "3", "server")
	want := []string{
		"ghost: the mirror has it, the server does not",
		"missing: missing from the mirror",
		"old: the mirror is at 1, the server at 2",
		"remade: the mirror has the UID u1, the server u2",
	}
	if got := differences(server, copied); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q", got)
	}
}

// A fault that does not come about is a failure of the whole, and named.
func TestNotMetFails(t *testing.T) {
	var out bytes.Buffer
	p := report.NewPrinter(&out, report.Options{})
	server := apitest.New(apitest.Options{})
	defer server.Close()
	d := &demo{opts: Options{Out: p}, server: server, watcher: newWatcher(), lag: newLag(server.CommitTime)}
	d.changes = churn.New(server, 1)
	d.mirror = mirror.New(mirror.Options{})
	for _, s := range scenes() {
		d.faults = append(d.faults, report.FaultState{Name: s.name, Met: s.name != "stalled connection"})
	}
	err := d.conclude(nil)
	if closeErr := p.Close(); closeErr != nil {
		t.Fatal(closeErr)
	}
	if !errors.Is(err, ErrFailed) || !strings.Contains(out.String(), "stalled connection                 NOT MET") {
		t.Errorf("err = %v, output:\n%s", err, out.String())
	}
}

func TestLagQuantiles(t *testing.T) {
	l := newLag(nil)
	if p50, p99 := l.quantiles(); p50 != 0 || p99 != 0 {
		t.Errorf("of nothing: %v, %v", p50, p99)
	}
	for i := range 100 {
		l.all = append(l.all, time.Duration(100-i))
	}
	if p50, p99 := l.quantiles(); p50 != 51 || p99 != 100 {
		t.Errorf("of 1 to 100: %v, %v", p50, p99)
	}
}
