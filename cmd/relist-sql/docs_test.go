package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/internal/cli/clitest"
	"github.com/relist-go/relist/internal/must"
)

// blocks returns the fenced blocks of durable/README.md that are of a language, in order.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile("../../durable/README.md")
	must.OK(t, err)
	var found []string
	for _, m := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?)\n```\n").FindAllStringSubmatch(string(text), -1) {
		found = append(found, m[1])
	}
	return found
}

var shellWord = regexp.MustCompile(`'([^']*)'|#.*|\S+`)

// commands returns the lines of a block as words, without comments.
func commands(block string) [][]string {
	var lines [][]string
	for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
		var words []string
		for _, m := range shellWord.FindAllStringSubmatch(line, -1) {
			switch {
			case strings.HasPrefix(m[0], "#"):
			case strings.HasPrefix(m[0], "'"):
				words = append(words, m[1])
			default:
				words = append(words, m[0])
			}
		}
		if len(words) > 0 {
			lines = append(lines, words)
		}
	}
	return lines
}

// wordsAfter removes what a command line begins with, and fails if it does not.
func wordsAfter(t *testing.T, words []string, begin string) []string {
	t.Helper()
	n := len(strings.Fields(begin))
	if len(words) < n || strings.Join(words[:n], " ") != begin {
		t.Fatalf("want a command that begins with %q: %q", begin, words)
	}
	return words[n:]
}

// replaced returns words with other texts in them.
func replaced(words []string, oldNew ...string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.NewReplacer(oldNew...).Replace(w)
	}
	return out
}

// The commands that lead from a clean clone to a query, with the real server of the command relist.
func TestDocsFirstCommands(t *testing.T) {
	sh := blocks(t, "sh")
	if len(sh) != 5 {
		t.Fatalf("durable/README.md has %d blocks of commands, want 5: add the new one to this test", len(sh))
	}
	serve := wordsAfter(t, commands(sh[0])[0], "go run ./cmd/relist")
	program := filepath.Join(t.TempDir(), "relist")
	args := []string{"build", "-o", program}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		args = append(args, "-race") // the packages are compiled already as they were for this test
	}
	build := exec.CommandContext(t.Context(), "go", append(args, "./cmd/relist")...)
	build.Dir = "../.."                                  // the module of the command
	build.Env = append(os.Environ(), "HOME="+homeOfUser) // where go keeps what it has built
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	server := exec.CommandContext(t.Context(), program, replaced(serve, "127.0.0.1:8080", "127.0.0.1:0")...)
	out := clitest.NewOutput()
	server.Stdout = out
	must.OK(t, server.Start())
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait() // it was killed
	}()
	url := strings.Fields(out.Await(t, "faults "))[1]
	file := filepath.Join(t.TempDir(), "demo.db")
	ran := 0
	for _, words := range append(commands(sh[1]), commands(sh[2])...) {
		if words[0] == "cd" {
			if len(words) != 2 || words[1] != "cmd/relist-sql" {
				t.Errorf("%q is not where this test is", words)
			}
			continue
		}
		r := command(t, replaced(wordsAfter(t, words, "go run ."), "http://127.0.0.1:8080", url, "demo.db", file)...)
		if r.status != cli.ExitOK || r.stderr != "" || r.stdout == "" {
			t.Errorf("%q: status %d, %q, %q", words, r.status, r.stdout, r.stderr)
		}
		ran++
	}
	if ran != 4 {
		t.Errorf("%d commands were run", ran)
	}
}

// pods makes what the queries of the docs find something in.
func (w *world) pods() {
	for _, pod := range []struct{ name, node, image string }{
		{"web-1", "n1", "web:2"}, {"web-2", "n2", "web:2"}, {"web-3", "n1", "web:2"}, {"alone", "n1", "debug:1"},
	} {
		metadata := map[string]any{"namespace": "shop", "name": pod.name, "labels": map[string]any{"app": pod.image[:3]}}
		w.create("pods", "shop", pod.name, map[string]any{
			"metadata": metadata, "spec": map[string]any{"nodeName": pod.node, "containers": []any{map[string]any{"name": "c", "image": pod.image}}},
		})
	}
}

func (w *world) deployment(name, image string) {
	w.create("deployments.apps", "shop", name, map[string]any{"spec": map[string]any{"template": map[string]any{
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": image}}},
	}}})
}

// The queries, on the tables that the page makes.
func TestDocsQueries(t *testing.T) {
	east, west := newWorld(t, 0), newWorld(t, 0)
	east.pods()
	east.deployment("same", "a:1")
	east.deployment("differs", "a:1")
	east.deployment("only-east", "a:1")
	west.deployment("same", "a:1")
	west.deployment("differs", "a:2")
	mirror := func(w *world, label string) {
		t.Helper()
		args := replaced(wordsAfter(t, commands(blocks(t, "sh")[3])[0], "relist-sql"), "cluster.db", east.file, "east", label)
		if r := command(t, append(args, "--shared", "--once", "--server", w.url)...); r.status != cli.ExitOK || r.stderr != "" {
			t.Fatalf("status %d: %s%s", r.status, r.stdout, r.stderr)
		}
	}
	mirror(east, "east")
	mirror(west, "west")
	if _, err := east.server.Delete("pods", "shop", "web-3"); err != nil {
		t.Fatal(err)
	}
	mirror(east, "east")

	began := strings.TrimSpace(east.query("SELECT from_time FROM pods_history WHERE key = 'shop/web-3'"))
	moment := strings.NewReplacer("2026-11-22T14:05:00.000Z", began, "220", "10") // as texts, 5 <= 10 is false
	queries := blocks(t, "sql")
	for i, want := range []string{
		"n1,debug:1,1\nn1,web:2,1\nn2,web:2,1\n",
		"shop/web-3,deleted\n",
		"5",
		"5,10,deleted",
		"shop/differs,a:1,a:2\nshop/only-east,a:1,\n",
		"app,web,2\napp,deb,1\n",
	} {
		got := east.query(moment.Replace(queries[i]))
		switch i {
		case 1:
			_, got, _ = strings.Cut(got, ",") // the time
		case 2, 3:
			got, _, _ = strings.Cut(got, `,"{`) // the object
		}
		if got != want {
			t.Errorf("%s:\n%swant:\n%s", queries[i], got, want)
		}
	}
	if len(queries) != 6 {
		t.Errorf("durable/README.md has %d queries: add the new one to this test", len(queries))
	}
}

// understood fails the test if a command line would be a usage error.
func understood(t *testing.T, words []string) {
	t.Helper()
	cmd, args, err := newRoot().Find(wordsAfter(t, words, "relist-sql"))
	if err == nil {
		err = cmd.ParseFlags(args)
	}
	if err == nil {
		err = cmd.Args(cmd, cmd.Flags().Args())
	}
	if err == nil && cmd.PreRunE != nil {
		err = cmd.PreRunE(cmd, cmd.Flags().Args())
	}
	if err != nil {
		t.Errorf("%q: %v", words, err)
	}
}

// Commands that need a server of PostgreSQL are understood here. The module test/postgres runs such
// commands.
func TestDocsPostgres(t *testing.T) {
	for _, words := range commands(blocks(t, "sh")[4]) {
		understood(t, words)
	}
}

// The help of a command shows only command lines that are understood.
func TestHelpExamples(t *testing.T) {
	for _, c := range newRoot().Commands() {
		for _, words := range commands(c.Example) {
			if i := slices.Index(words, "|"); i >= 0 {
				words = words[:i]
			}
			understood(t, words)
		}
	}
}
