package demo

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/informer"
)

// printed returns what run prints.
func printed(t *testing.T, run func(*report.Printer)) string {
	t.Helper()
	var out bytes.Buffer
	p := report.NewPrinter(&out, report.Options{})
	run(p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := printed(t, func(p *report.Printer) {
		if err := Run(ctx, time.Hour, p); err == nil {
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
	server := apitest.New(apitest.Options{})
	defer server.Close()
	d := &demo{server: server, tally: tally{counts: map[string]int{}}, missed: true, cache: informer.New[*unstructured.Unstructured](nil, informer.Options[*unstructured.Unstructured]{})}
	conclude := func() string {
		return printed(t, func(p *report.Printer) {
			d.out = p
			if err := d.conclude(); err == nil {
				t.Error("no error")
			}
		})
	}
	if out := conclude(); !strings.HasSuffix(out, "\nmirror matches the server\n") {
		t.Errorf("the result ends with\n%s", out)
	}
	if _, err := server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "a", "name": "b"}}); err != nil {
		t.Fatal(err)
	}
	d.missed = false
	if out := conclude(); !strings.HasSuffix(out, "\nmirror DOES NOT match the server\n") {
		t.Errorf("the result ends with\n%s", out)
	}
}

// A scene that the client does not meet is noted.
func TestNotMet(t *testing.T) {
	server := apitest.New(apitest.Options{})
	defer server.Close()
	d := &demo{server: server, behind: server.Replica("b"), tally: tally{counts: map[string]int{}}}
	nothing := func(context.Context, *demo) error { return nil }
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // its time is over
	out := printed(t, func(p *report.Printer) {
		d.out = p
		d.show(ctx, scene{name: "none", run: meet(cuts, nothing)})
	})
	if !d.missed || d.states[0].Value != "NOT MET" || !strings.Contains(out, "none: cut watches: there are no more than 0") {
		t.Errorf("%v:\n%s", d.states, out)
	}
}
