package main

import (
	"strings"
	"testing"

	"github.com/relist-go/relist/cmd/internal/cli"
)

func TestUsageErrors(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"fly", `relist-sql: unknown command "fly": want mirror, query, status or version`},
		{"--fly", "relist-sql: unknown flag: --fly"},
		{"stats", `relist-sql: unknown command "stats"; did you mean status?`},
		{"mirror --to sqlite:x", "relist-sql mirror: name a resource"},
		{"mirror , --to sqlite:x", "relist-sql mirror: name a resource"},
		{"mirror pods", "relist-sql mirror: name a database with --to"},
		{"mirror pods --to x.db", `relist-sql mirror: --to: "x.db": want sqlite:FILE or postgres://USER@HOST/DATABASE`},
		{"mirror pods --to sqlite:", `relist-sql mirror: --to: "sqlite:": want sqlite:FILE or postgres://`},
		{"mirror pods --to mysql://u:secret@h/d", "relist-sql mirror: --to: want sqlite:FILE or postgres://USER@HOST/DATABASE (what was given is not shown"},
		{"mirror pods --to sqlite:x -n a -A", "relist-sql mirror: -n and -A cannot be used together"},
		{"mirror pods --to sqlite:x -n a/b", "relist-sql mirror: -n a/b: want the name of one namespace"},
		{"mirror pods --to sqlite:x --history soon", "relist-sql mirror: --history soon: want a time, such as 90s"},
		{"mirror pods --to sqlite:x --history -1s", "relist-sql mirror: --history -1s: want a positive time, such as 24h"},
		{"mirror pods --to sqlite:x --standby", "relist-sql mirror: --standby is for PostgreSQL"},
		{"mirror pods --to sqlite:x --schema s", "relist-sql mirror: --schema is for PostgreSQL"},
		{"mirror pods --to postgres://h/d --shared", "relist-sql mirror: --shared is for SQLite"},
		{"mirror pods --to postgres://h/d --once --standby", "relist-sql mirror: --once and --standby cannot be used together"},
		{"mirror pods --to sqlite:x --columns node", "relist-sql mirror: --columns node: want NAME=.PATH, such as node=.spec.nodeName, or RESOURCE:NAME=.PATH"},
		{"mirror pods --to sqlite:x --columns :node=.a", "relist-sql mirror: --columns :node=.a: want NAME=.PATH"},
		{"mirror pods --to sqlite:x --columns node=a", "relist-sql mirror: --columns node=a: want NAME=.PATH"},
		{"mirror pods --to sqlite:x --status-listen here", `relist-sql mirror: --status-listen "here": want HOST:PORT`},
		{"mirror pods --to sqlite:x --max-staleness 1m", "relist-sql mirror: --max-staleness is for /healthz"},
		{"mirror pods --to sqlite:x --status-host a.test", "relist-sql mirror: --status-host is for the status"},
		{"mirror pods --to sqlite:x --max-staleness -1m", "relist-sql mirror: --max-staleness -1m0s: want a positive time"},
		{"query", "relist-sql query: name a database, such as cluster.db"},
		{"query x SELECT 1", "relist-sql query: want one statement: write it in quotes"},
		{"query x -o xml", `relist-sql query: output format "xml": want table, csv or json`},
		{"query x --schema s", "relist-sql query: --schema is for PostgreSQL"},
		{"status", "relist-sql status: name one database, such as cluster.db"},
		{"mirror pods --to sqlite:x --verify -1s", "relist-sql mirror: --verify -1s: want a positive time, such as 6h, or 0"},
		{"version now", `relist-sql version: unexpected argument "now"`},
	} {
		r := command(t, strings.Fields(tt.args)...)
		if r.status != cli.ExitUsage || !strings.HasPrefix(r.stderr, tt.want) || !strings.Contains(r.stderr, "--help") || r.stdout != "" || strings.Contains(r.stderr, "secret") {
			t.Errorf("relist-sql %s: status %d, stdout %q, stderr %q; want %d, %q", tt.args, r.status, r.stdout, r.stderr, cli.ExitUsage, tt.want)
		}
	}
}

// A column of a resource that is not mirrored is a mistake in the command line, too.
func TestColumnOfAnotherResource(t *testing.T) {
	w := newWorld(t, 1)
	r := command(t, w.mirror("--columns", "pods:node=.spec.nodeName")...)
	if want := "relist-sql mirror: --columns pods:node=.spec.nodeName: pods is not among the resources to mirror\n"; r.status != cli.ExitUsage || !strings.HasPrefix(r.stderr, want) {
		t.Errorf("status %d, stderr %q, want %q", r.status, r.stderr, want)
	}
}

func TestHelp(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"", "relist-sql query cluster.db"},
		{"--help", "Exit status"},
		{"mirror --help", "relist-sql mirror pods,deploy -A --to sqlite:cluster.db"},
		{"mirror --help", "lagSeconds"},
		{"query --help", "<null>"},
		{"status --help", "relist-sql status cluster.db"},
		{"--version", "relist-sql devel"},
		{"version", "relist-sql devel"},
		{"completion bash", "relist-sql"},
		{"__complete mirror pods --to s", "sqlite:"},
		{"__complete query x -o c", "csv"},
	} {
		r := command(t, strings.Fields(tt.args)...)
		if r.status != cli.ExitOK || !strings.Contains(r.stdout, tt.want) {
			t.Errorf("relist-sql %s: status %d, stdout %q, stderr %q; want %q", tt.args, r.status, r.stdout, r.stderr, tt.want)
		}
		for line := range strings.Lines(r.stdout) {
			if strings.HasSuffix(tt.args, "--help") && len(line) > 86 {
				t.Errorf("relist-sql %s: a line is too long: %q", tt.args, line)
			}
		}
	}
}
