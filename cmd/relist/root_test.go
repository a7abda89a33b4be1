package main

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestUsageErrors(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string
	}{
		{"fly", `relist: unknown command "fly": want demo, mirror, record, replay, serve or version`},
		{"--fly", "relist: unknown flag: --fly"},
		{"mirror", "relist mirror: name one resource"},
		{"mirror pods nodes", "relist mirror: name one resource"},
		{"mirror pods -o yaml", `relist mirror: output format "yaml": want text or json or none`},
		{"mirror pods -n a -A", "relist mirror: -n and -A cannot be used together"},
		{"mirror pods --for -1s", "relist mirror: --for -1s: want a positive time"},
		{"mirror pods --for soon", "relist mirror: --for soon: want a positive time"},
		{"mirror pods --resync -1s", "relist mirror: --resync -1s: want a positive time"},
		{"mirror pods --token a --token-file b", "relist mirror: --token and --token-file cannot be used together"},
		{"mirror pods --status-listen here", `relist mirror: --status-listen "here": want HOST:PORT`},
		{"mirror pods --max-staleness -1s", "relist mirror: --max-staleness -1s: want a positive time"},
		{"mirror pods --max-staleness 1m", "relist mirror: --max-staleness is for /healthz: choose an address for it with --status-listen"},
		{"mirror pods --status-host a.test", "relist mirror: --status-host is for the status: choose an address for it with --status-listen"},
		{"demo now", `relist demo: unexpected argument "now"`},
		{"demo -o none", `relist demo: output format "none": want text or json`},
		{"demo --objects 3", "relist demo: --objects 3: want 20 or more"},
		{"demo --rate -1", "relist demo: --rate -1: want 0 or more"},
		{"demo --duration -1s", "relist demo: --duration -1s: want 0 or more"},
		{"version now", `relist version: unexpected argument "now"`},
		{"serve --replicas 0", "relist serve: --replicas 0: want 1 or more"},
		{"serve --objects -1", "relist serve: --objects -1: want 0 or more"},
		{"serve --rate -1", "relist serve: --rate -1: want 0 or more"},
		{"serve --listen here", `relist serve: --listen "here": want HOST:PORT`},
	} {
		r := command(t, strings.Fields(tt.args)...)
		if r.status != exitUsage || !strings.HasPrefix(r.stderr, tt.want) || !strings.Contains(r.stderr, "--help") {
			t.Errorf("relist %s: status %d, stderr %q; want %d, %q", tt.args, r.status, r.stderr, exitUsage, tt.want)
		}
		if r.stdout != "" {
			t.Errorf("relist %s: stdout %q", tt.args, r.stdout)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"", "relist demo"},
		{"--help", "Exit status"},
		{"mirror --help", "relist mirror pods -A"},
		{"mirror --help", "stalenessSeconds"},
		{"serve --help", "faults URL"},
		{"demo --help", "relist demo --objects 20000"},
		{"--version", "relist devel"},
		{"version", "relist devel"},
		{"completion bash", "relist"},
		{"__complete mirror pods -o js", "json"},
	} {
		r := command(t, strings.Fields(tt.args)...)
		if r.status != exitOK || !strings.Contains(r.stdout, tt.want) {
			t.Errorf("relist %s: status %d, stdout %q, stderr %q; want %q", tt.args, r.status, r.stdout, r.stderr, tt.want)
		}
	}
}

func TestVersionNamesReleaseAndCommit(t *testing.T) {
	settings := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}}
	for _, tt := range []struct {
		info debug.BuildInfo
		want string
	}{
		{debug.BuildInfo{GoVersion: "go1.2", Main: debug.Module{Version: "v1.2.3"}, Settings: settings[:1]}, "v1.2.3 (commit 0123456789ab, go1.2)"},
		{debug.BuildInfo{GoVersion: "go1.2", Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3 (go1.2)"},
		{debug.BuildInfo{GoVersion: "go1.2", Main: debug.Module{Version: "(devel)"}, Settings: settings}, "devel (commit 0123456789ab+changes, go1.2)"},
		{debug.BuildInfo{GoVersion: "go1.2"}, "devel (go1.2)"},
	} {
		if got := versionOf(&tt.info); got != tt.want {
			t.Errorf("versionOf = %q, want %q", got, tt.want)
		}
	}
}

// Whichever way one asks for the version, the answer is the same line.
func TestVersionIsOneLineHoweverOneAsks(t *testing.T) {
	flag, word := command(t, "--version"), command(t, "version")
	if flag.stdout != word.stdout || strings.Count(word.stdout, "\n") != 1 || word.status != exitOK || word.stderr != "" {
		t.Errorf("--version prints %q, version %q", flag.stdout, word.stdout)
	}
}
