package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each mutation is noticed by the trace that is about it.
func TestMutants(t *testing.T) {
	for _, player := range []string{"trace", "server"} {
		if failed := runTraces(t, player, ""); len(failed) > 0 {
			t.Fatalf("these of %s fail without any mutation: %s", player, strings.Join(failed, ", "))
		}
	}
	for _, m := range mutations {
		folder := strings.TrimPrefix(m.player()+"/testdata", "trace/")
		if _, err := os.Stat(filepath.Join(root, folder, m.trace+".txt")); err != nil {
			t.Errorf("%s: %v", m.what, err)
		}
		t.Run(strings.ReplaceAll(m.what, " ", "-"), func(t *testing.T) {
			t.Parallel() // most of the time is the linker's
			failed := runTraces(t, m.player(), Overlay(t, m.dir, m.edits...))
			t.Logf("%s: %s: caught by %s", m.dir, m.what, strings.Join(failed, ", "))
			if !slices.Contains(failed, m.trace) {
				t.Errorf("the trace %s does not notice: %s", m.trace, m.what)
			}
		})
	}
}

// patience is for one mutant: to compile it, and to run what may never end.
const patience = 5 * time.Minute

// runTraces runs the traces that a package plays, with an overlay if there is one, and returns
// those that failed, by name. Those of a server are played to a relay, too.
func runTraces(t *testing.T, player, overlay string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-vet=off", "-count=1", "-timeout=1m",
		"-run=^Test(Trace|RelayAnswersAlike)$", "-overlay="+overlay, "./"+player)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	failed, ran := failures(out)
	if ran == 0 || (err != nil) != (len(failed) > 0) {
		t.Fatalf("the traces did not run: %v\n%s%s", err, stderr.String(), tail(out))
	}
	return failed
}

// failures reads what go test -json says of subtests: the names of those that
// failed, or never ended, and how many there were.
func failures(out []byte) (failed []string, ran int) {
	var begun string // and not ended: they run one after the other
	for line := range bytes.Lines(out) {
		var event struct{ Action, Test string }
		if json.Unmarshal(line, &event) != nil {
			continue
		}
		_, name, ok := strings.Cut(event.Test, "/")
		if !ok {
			continue
		}
		switch event.Action {
		case "run":
			ran++
			begun = name
		case "fail":
			failed = append(failed, name)
			begun = ""
		case "pass":
			begun = ""
		}
	}
	if begun != "" {
		failed = append(failed, begun)
	}
	return failed, ran
}

// tail is enough of an output to see what is wrong.
func tail(out []byte) string {
	const most = 4000
	return string(out[max(0, len(out)-most):])
}

// A run that ends in the middle has a trace at fault, too.
func TestFailures(t *testing.T) {
	failed, ran := failures([]byte(`{"Action":"run","Test":"TestTrace"}
{"Action":"run","Test":"TestTrace/a"}
{"Action":"pass","Test":"TestTrace/a"}
{"Action":"run","Test":"TestTrace/b"}
{"Action":"fail","Test":"TestTrace/b"}
{"Action":"run","Test":"TestTrace/c"}
{"Action":"output","Test":"TestTrace/c","Output":"panic: ..."}
{"Action":"fail"}
`))
	if ran != 3 || !slices.Equal(failed, []string{"b", "c"}) {
		t.Errorf("%d ran, and %v failed; want 3, b and c", ran, failed)
	}
}
