package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/relist-go/relist/cmd/internal/cli"
)

// complete returns what the shell offers for a command line, and the number that says what else it
// may offer: 4 is nothing.
func complete(t *testing.T, args ...string) (words []string, directive string) {
	t.Helper()
	r := command(t, append([]string{"__complete"}, args...)...)
	lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
	if r.status != cli.ExitOK {
		t.Errorf("%q: status %d: %s", args, r.status, r.stderr)
	}
	return lines[:len(lines)-1], lines[len(lines)-1]
}

func TestCompletion(t *testing.T) {
	for _, tt := range []struct{ args, typed, want string }{
		{"mirror", "p", ""},
		{"mirror pods -n", "", ""},
		{"mirror pods --color", "", "auto always never"},
		{"mirror pods -o", "", "text json none yaml json-object"},
		{"demo", "", ""},
	} {
		words, directive := complete(t, append(strings.Fields(tt.args), tt.typed)...)
		if got := strings.Join(words, " "); got != tt.want || directive != ":4" {
			t.Errorf("%s %q: got %q, %s", tt.args, tt.typed, got, directive)
		}
	}
	if _, directive := complete(t, "mirror", "pods", "--kubeconfig", ""); directive != ":0" { // a file
		t.Errorf("--kubeconfig: %s", directive)
	}
}

func TestPluginOfKubectl(t *testing.T) {
	as := func(name string, args ...string) (int, string, string) {
		var stdout, stderr bytes.Buffer
		status := runAs(t.Context(), name, args, &stdout, &stderr)
		return status, stdout.String(), stderr.String()
	}
	for _, name := range []string{"kubectl-relist", "/usr/bin/kubectl-relist", "kubectl-relist.exe"} {
		status, _, stderr := as(name, "mirror")
		if want := "kubectl relist mirror: name a resource, such as pods or deployments.apps\nSee 'kubectl relist mirror --help'.\n"; status != cli.ExitUsage || stderr != want {
			t.Errorf("%s: status %d, stderr %q", name, status, stderr)
		}
	}
	status, help, _ := as("kubectl-relist", "mirror", "--help")
	if status != cli.ExitOK || !strings.Contains(help, "  kubectl relist mirror RESOURCE") || !strings.Contains(help, "  kubectl relist mirror pods -A\n") {
		t.Errorf("status %d, help\n%s", status, help)
	}
	if status, help, _ := as("kubectl-relist"); status != cli.ExitOK || strings.Contains(strings.ReplaceAll(help, "kubectl relist ", ""), "relist mirror") {
		t.Errorf("status %d, help\n%s", status, help)
	}
	if status, words, _ := as("kubectl_complete-relist", "mirror", "pods", "--color", ""); status != cli.ExitOK || words != "auto\nalways\nnever\n:4\n" {
		t.Errorf("status %d, completed %q", status, words)
	}
}

// No line of help is broken by a terminal of 80 columns, but for a command that is longer.
func TestHelpFitsInto80Columns(t *testing.T) {
	for _, name := range []string{"", "demo", "mirror", "record", "replay", "serve", "version"} {
		r := command(t, append(strings.Fields(name), "--help")...)
		for line := range strings.Lines(r.stdout) {
			if len([]rune(line)) > 81 && !strings.HasPrefix(line, "  curl ") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}
