package main

import (
	"strings"
	"testing"

	"github.com/relist-go/relist/cmd/internal/cli"
)

// An error says what was expected, and not how the parser failed.
func TestUsageErrors(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string
	}{
		{"fly", `relist: unknown command "fly": want demo, mirror, record, relay, replay, serve or version`},
		{"x", `relist: unknown command "x": want demo, mirror, record, relay, replay, serve or version`},
		{"miror", `relist: unknown command "miror"; did you mean mirror?`},
		{"--fly", "relist: unknown flag: --fly"},
		{"mirror pods --selectr app=web", "relist mirror: unknown flag: --selectr; did you mean --selector?"},
		{"mirror pods -l a=(b", "relist mirror: -l a=(b: unable to parse requirement: "},
		{"mirror pods --field-selector node", "relist mirror: --field-selector node: invalid selector: "},
		{"mirror", "relist mirror: name a resource"},
		{"mirror ,", "relist mirror: name a resource"},
		{"record pods nodes -o x", "relist record: name one resource"},
		{"mirror pods -o xml", `relist mirror: output format "xml": want text, json, none, yaml or json-object`},
		{"mirror pods -o yaml --diff", "relist mirror: --diff is for -o text and -o json"},
		{"mirror pods -o none --show-initial", "relist mirror: --show-initial is not for -o none"},
		{"mirror pods -o yaml --encoding protobuf", "relist mirror: --encoding protobuf: want json, because fields of objects are printed"},
		{"mirror pods --color pink", "relist mirror: --color pink: want auto, always or never"},
		{"mirror pods,nodes --status-listen 127.0.0.1:0", "relist mirror: --status-listen is for one resource"},
		{"mirror pods -n a -A", "relist mirror: -n and -A cannot be used together"},
		{"mirror pods --for soon", "relist mirror: --for soon: want a positive time"},
		{"mirror pods --resync -1s", "relist mirror: --resync -1s: want a positive time"},
		{"mirror pods --token a --token-file b", "relist mirror: --token and --token-file cannot be used together"},
		{"mirror pods --status-listen here", `relist mirror: --status-listen "here": want HOST:PORT`},
		{"mirror pods --max-staleness -1s", "relist mirror: --max-staleness -1s: want a positive time"},
		{"mirror pods --max-staleness 1m", "relist mirror: --max-staleness is for /healthz: choose an address for it with --status-listen"},
		{"mirror pods --status-host a.test", "relist mirror: --status-host is for the status: choose an address for it with --status-listen"},
		{"mirror pods --for 0s", "relist mirror: --for 0s: want a positive time, such as 90s"},
		{"mirror pods --page-size x", "relist mirror: --page-size x: want a whole number"},
		{"mirror pods --exit-on-sync=maybe", "relist mirror: --exit-on-sync maybe: want true or false"},
		{"mirror pods --resync soon", "relist mirror: --resync soon: want a time, such as 90s"},
		{"serve --rate x", "relist serve: --rate x: want a number"},
		{"mirror pods -n a/b", "relist mirror: -n a/b: want the name of one namespace"},
		{"mirror pods -n ..", "relist mirror: -n ..: want the name of one namespace"},
		{"mirror pods -n Web", "relist mirror: -n Web: want the name of one namespace"},
		{"record pods -o f -n a/b", "relist record: -n a/b: want the name of one namespace"},
		{"mirror pods --server localhost", "relist mirror: --server localhost: want http://HOST:PORT or https://HOST[:PORT]"},
		{"mirror pods --transport ws", "relist mirror: --transport ws: want http or websocket"},
		{"completion foo", `relist completion: unknown shell "foo": want bash, fish, powershell or zsh`},
		{"demo now", `relist demo: unexpected argument "now"`},
		{"version now", `relist version: unexpected argument "now"`},
		{"serve --replicas 0", "relist serve: --replicas 0: want 1 or more"},
		{"serve --objects -1", "relist serve: --objects -1: want 0 or more"},
		{"serve --rate -1", "relist serve: --rate -1: want 0 or more"},
		{"serve --listen here", `relist serve: --listen "here": want HOST:PORT`},
	} {
		r := command(t, strings.Fields(tt.args)...)
		if r.status != cli.ExitUsage || !strings.HasPrefix(r.stderr, tt.want) || !strings.Contains(r.stderr, "--help") || strings.Contains(r.stderr, "strconv") {
			t.Errorf("relist %s: status %d, stderr %q; want %d, %q", tt.args, r.status, r.stderr, cli.ExitUsage, tt.want)
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
		{"demo --help", "relist demo --duration 1m"},
		{"--version", "relist devel"},
		{"version", "relist devel"},
		{"completion bash", "relist"},
		{"__complete mirror pods -o js", "json"},
	} {
		r := command(t, strings.Fields(tt.args)...)
		if r.status != cli.ExitOK || !strings.Contains(r.stdout, tt.want) {
			t.Errorf("relist %s: status %d, stdout %q, stderr %q; want %q", tt.args, r.status, r.stdout, r.stderr, tt.want)
		}
	}
}

// Whichever way one asks for the version, the answer is the same line.
func TestVersionIsOneLineHoweverOneAsks(t *testing.T) {
	flag, word := command(t, "--version"), command(t, "version")
	if flag.stdout != word.stdout || strings.Count(word.stdout, "\n") != 1 || word.status != cli.ExitOK || word.stderr != "" {
		t.Errorf("--version prints %q, version %q", flag.stdout, word.stdout)
	}
}
