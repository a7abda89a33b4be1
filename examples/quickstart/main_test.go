package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, main) }

func TestQuickstart(t *testing.T) {
	server, url := apitest.Start(t, apitest.Options{})
	must := program.Must(t)
	configMap := func(data map[string]any) map[string]any {
		return map[string]any{"metadata": map[string]any{"namespace": "shop", "name": "prices"}, "data": data}
	}
	must(server.Create("configmaps", configMap(nil)))

	p := program.New(t, program.Kubeconfig(t, url))
	p.Begin(p.StdoutPipe)
	p.Want("+ shop prices")
	must(server.Update("configmaps", configMap(map[string]any{"tea": "3"})))
	p.Want("~ shop prices 0 -> 1")
	must(server.Delete("configmaps", "shop", "prices"))
	p.Want("- shop prices")
	p.Interrupt()
}

// If the program fails, its exit status says so.
func TestQuickstartFails(t *testing.T) {
	program.New(t, filepath.Join(t.TempDir(), "none")).Fails("kubeconfig")
}

// If the server is away, the program says so, and goes on.
func TestQuickstartSaysWhatItWaitsFor(t *testing.T) {
	server, url := apitest.Start(t, apitest.Options{})
	if err := server.FailNext(apitest.Failure{Verb: "list", Status: 401, Reason: "Unauthorized"}); err != nil {
		t.Fatal(err)
	}
	p := program.New(t, program.Kubeconfig(t, url))
	p.Begin(p.StderrPipe)
	for _, want := range []string{"WARN relist: failing resource=configmaps reason=denied", "INFO relist: listed resource=configmaps", "WARN relist: recovered"} {
		if got := p.Line(); !strings.Contains(got, want) {
			t.Fatalf("printed %q, want %q", got, want)
		}
	}
	p.Kill()
}
