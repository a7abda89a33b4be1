package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/internal/must"
)

const traces = "../../testdata"

func TestReplayDirectory(t *testing.T) {
	files, err := filepath.Glob(traces + "/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no traces", err)
	}
	r := command(t, "replay", traces)
	if r.status != cli.ExitOK || r.stderr != "" || strings.Count(r.stdout, "ok   ") != len(files) {
		t.Errorf("status %d, stderr %q, %d files:\n%s", r.status, r.stderr, len(files), r.stdout)
	}
	if r := command(t, "replay", traces+"/watch-*.txt", traces+"/expired.txt"); r.status != cli.ExitOK || !strings.HasSuffix(r.stdout, "expired.txt\n") {
		t.Errorf("status %d:\n%s", r.status, r.stdout)
	}
}

// Each file says which program it is for, so files of several can be run together.
func TestReplayKnowsTheProgramOfEachFile(t *testing.T) {
	watchers := []string{traces + "/retrywatcher/*.txt", traces + "/retrywatcher/bookmarks", traces + "/expired.txt", "../../docs/incidents/testdata"}
	r := command(t, append([]string{"replay"}, watchers...)...)
	if r.status != cli.ExitOK || strings.Contains(r.stdout, "FAIL") || strings.Count(r.stdout, "ok   ") < 24 {
		t.Errorf("status %d:\n%s%s", r.status, r.stdout, r.stderr)
	}
	if r := command(t, "replay", "--program", "retrywatcher", traces+"/first-list.txt"); r.status != cli.ExitError || !strings.Contains(r.stdout, "FAIL") {
		t.Errorf("--program was ignored: status %d:\n%s", r.status, r.stdout)
	}
	foreign := filepath.Join(t.TempDir(), "foreign.txt")
	for program, want := range map[string]string{
		"client-go": "for another program: client-go",
		"smalest":   "for another program: smalest; did you mean smallest?",
	} {
		must.OK(t, os.WriteFile(foreign, []byte("# program: "+program+"\nstart\n"), 0o600))
		r := command(t, "replay", foreign, traces+"/expired.txt")
		if r.status != cli.ExitError || !strings.HasPrefix(r.stdout, "skip "+foreign+" ("+want+")\nok   ") || !strings.Contains(r.stderr, "1 of 2 traces were not played") {
			t.Errorf("status %d, stderr %q:\n%s", r.status, r.stderr, r.stdout)
		}
	}
	const server = "../../server/testdata/behind.txt"
	if r := command(t, "replay", server); r.stdout != "skip "+server+" (for servers: apitest)\n" {
		t.Errorf("status %d:\n%s", r.status, r.stdout)
	}
	if r := command(t, "replay", "--svg", server); r.stderr != "relist replay: "+server+" is for servers: apitest\n" {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
}

func TestReplayVerbose(t *testing.T) {
	const name = traces + "/expired.txt"
	whole, err := os.ReadFile(name)
	must.OK(t, err)
	r := command(t, "replay", "-v", name)
	if want := string(whole) + "\nok   " + name + "\n"; r.status != cli.ExitOK || r.stdout != want {
		t.Errorf("status %d, stdout\n%s\nwant\n%s", r.status, r.stdout, want)
	}
}

func TestReplayFails(t *testing.T) {
	whole, err := os.ReadFile(traces + "/expired.txt")
	must.OK(t, err)
	bad := filepath.Join(t.TempDir(), "bad.txt")
	write := func(text string) {
		t.Helper()
		must.OK(t, os.WriteFile(bad, []byte(text), 0o600))
	}
	write(strings.Replace(string(whole), "~ 800ms", "~ 900ms", 1))
	r := command(t, "replay", bad, traces+"/expired.txt")
	for _, want := range []string{"FAIL " + bad, "# A watch breaks three ways", "\n-~ 900ms\n+~ 800ms\n", "\nok   "} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q is not in\n%s", want, r.stdout)
		}
	}
	if r.status != cli.ExitError || r.stderr != "relist replay: 1 of 2 traces did not pass\n" {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}

	if r := command(t, "replay", "--update", bad); r.status != cli.ExitOK || r.stdout != "ok   "+bad+" (updated)\n" {
		t.Errorf("status %d, stdout %q", r.status, r.stdout)
	}
	if updated, err := os.ReadFile(bad); err != nil || string(updated) != string(whole) {
		t.Errorf("updated to %v\n%s", err, updated)
	}

	write("start\nfrob\n")
	if r := command(t, "replay", bad); r.status != cli.ExitError || !strings.Contains(r.stdout, bad+`:2: unknown command "frob"`) {
		t.Errorf("status %d, stdout %q", r.status, r.stdout)
	}
}

func TestReplayUsage(t *testing.T) {
	empty := t.TempDir()
	for want, args := range map[string][]string{
		"name a trace":           {"replay"},
		"none: no such file":     {"replay", "none"},
		"no *.txt":               {"replay", empty},
		"syntax error":           {"replay", "[", traces},
		"unknown flag: --fly":    {"replay", "--fly"},
		"one of these at a time": {"replay", "--svg", "--update", traces},
		`write "# program: smallest" in its first line`:                                                     {"replay", "--program", "smallest", "--update", traces},
		"--program: no program here is called \"fly\": there are conversation-alone, mirror, naive-delayed": {"replay", "--program", "fly", traces},
	} {
		if r := command(t, args...); r.status != cli.ExitUsage || r.stdout != "" || !strings.Contains(r.stderr, want) {
			t.Errorf("%q: status %d, stderr %q, want %q", args, r.status, r.stderr, want)
		}
	}
}

// A picture is of one trace, and also of one that fails.
func TestReplayShows(t *testing.T) {
	svg, html := command(t, "replay", "--svg", traces+"/expired.txt"), command(t, "replay", "--html", traces+"/expired.txt")
	if svg.status != cli.ExitOK || !strings.HasPrefix(svg.stdout, "<svg ") || html.status != cli.ExitOK || !strings.HasPrefix(html.stdout, "<!doctype html>") {
		t.Errorf("status %d and %d: %s%s", svg.status, html.status, svg.stderr, html.stderr)
	}
	if r := command(t, "replay", "--html", "--program", "smallest", "../../docs/incidents/testdata/beside/5-tombstone.txt"); !strings.Contains(r.stdout, "<h1>5-tombstone: smallest beside relist</h1>") {
		t.Errorf("status %d for two programs: %s", r.status, r.stderr)
	}
	if r := command(t, "replay", "--svg", traces); r.status != cli.ExitUsage {
		t.Errorf("status %d for a directory", r.status)
	}
	text, err := os.ReadFile(traces + "/expired.txt")
	must.OK(t, err)
	file := filepath.Join(t.TempDir(), "changed.txt")
	must.OK(t, os.WriteFile(file, []byte(strings.Replace(string(text), "< BOOKMARK @150", "< BOOKMARK @151", 1)), 0o600))
	r := command(t, "replay", "--html", file)
	if r.status != cli.ExitError || !strings.HasPrefix(r.stdout, "<!doctype html>") || !strings.HasSuffix(r.stderr, "\nrelist replay: "+file+" did not pass\n") {
		t.Errorf("status %d for a trace that fails: %s", r.status, r.stderr)
	}
	if text := command(t, "replay", file); !strings.HasPrefix(text.stdout, "FAIL ") || !strings.HasPrefix(r.stderr, text.stdout) {
		t.Errorf("the difference is not as without --html:\n%s\nwant\n%s", r.stderr, text.stdout)
	}
}
