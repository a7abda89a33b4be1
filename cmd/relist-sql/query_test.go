package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/relist-sql/internal/database"
	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/reflector"
)

// The same result in every output. What a terminal would obey never reaches it.
func TestQueryOutputs(t *testing.T) {
	w := newWorld(t, 1)
	w.once()
	const statement = `SELECT key, 1.5 AS "n", NULL AS missing, '' AS empty, 'a,"b"' || char(27) || '[2J' AS odd, x'ff00' AS blob FROM configmaps`
	for output, want := range map[string]string{
		"table": "KEY       N     MISSING   EMPTY   ODD            BLOB\na/c0000   1.5   <null>            a,\"b\"\\x1b[2J   \\xff00\n",
		"csv":   "key,n,missing,empty,odd,blob\r\na/c0000,1.5,,\"\",\"a,\"\"b\"\"\x1b[2J\",\\xff00\r\n",
		"json":  `{"key":"a/c0000","n":1.5,"missing":null,"empty":"","odd":"a,\"b\"\u001b[2J","blob":"\\xff00"}` + "\n",
	} {
		r := command(t, "query", w.file, statement, "-o", output)
		if diff := cmp.Diff(want, r.stdout); diff != "" || r.status != cli.ExitOK || r.stderr != "" {
			t.Errorf("%s (-want +got):\n%s%s", output, diff, r.stderr)
		}
	}
}

// Nothing that a statement says changes the copy, or another file. An error says where it is.
func TestQueryErrors(t *testing.T) {
	w := newWorld(t, 1)
	w.once()
	dir := t.TempDir()
	for statement, want := range map[string]string{
		"SELECT cont(*) FROM configmaps":        "no such function: cont; at column 8: cont(*) FROM configmaps",
		"SELECT 1,\n  missing\nFROM configmaps": "no such column: missing; at line 2, column 3: missing",
		"SELECT 'ü', missing":                   "no such column: missing; at column 13: missing",
		"SELECT * FROM pod":                     "no such table: pod; relist-sql status lists the tables",
		"SELECT (":                              "incomplete input",
		"SELECT 1; SELECT 2":                    "want one statement, and something follows it; at column 11: SELECT 2",
		"DELETE FROM configmaps":                "it only reads: attempt to write a readonly database",
		"CREATE TABLE x (y)":                    "it only reads: ",
		"VACUUM INTO '" + dir + "/copy.db'":     "it opens and makes no other file: ",
		"ATTACH '" + dir + "/other.db' AS o":    "it opens and makes no other file: ",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3) SELECT abs(-9223372036854775807 - i) FROM n": "integer overflow",
	} {
		r := command(t, "query", w.file, statement)
		if r.status != cli.ExitError || !strings.HasPrefix(r.stderr, "relist-sql query: "+want) || strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
			t.Errorf("%s: status %d, stdout %q, stderr %q; want %q", statement, r.status, r.stdout, r.stderr, want)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("a query has made %v, %v", files, err)
	}
	w.want("SELECT count(*) FROM configmaps", "1\n")
}

func TestQueryOfNothing(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	must.OK(t, os.WriteFile(text, []byte(strings.Repeat("not a database ", 100)), 0o600))
	empty := filepath.Join(dir, "empty.db")
	must.OK(t, os.WriteFile(empty, nil, 0o600))
	for _, tt := range []struct{ command, file, want string }{
		{"query", empty, "relist-sql query: sqlite:" + empty + " has no copies yet: relist-sql mirror makes them\n"},
		{"status", empty, "relist-sql status: sqlite:" + empty + " has no copies yet: relist-sql mirror makes them\n"},
		{"query", dir + "/none.db", "no such file or directory; relist-sql mirror makes it"},
		{"status", dir + "/none.db", "no such file or directory; relist-sql mirror makes it"},
		{"query", text, "it is no database of SQLite"},
	} {
		r := command(t, tt.command, tt.file)
		if r.status != cli.ExitError || !strings.Contains(r.stderr, tt.want) || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s %s: status %d, stderr %q, want %q", tt.command, tt.file, r.status, r.stderr, tt.want)
		}
	}
	if _, err := os.Stat(dir + "/none.db"); err == nil {
		t.Error("a query has made a file")
	}
}

// streams are copies in every state.
func streams(now time.Time) []database.Stream {
	unsure := make([]string, 12)
	for i := range unsure {
		unsure[i] = "a/" + string(rune('a'+i))
	}
	return []database.Stream{
		{
			Table: "configmaps", Rows: 3, CurrentAt: now.Add(-time.Minute), Committed: now.Add(-time.Second), History: true, Gaps: 1, Lists: 1,
			State: durable.State{Epoch: 1, Point: reflector.Point{Version: "7"}, Stream: durable.Stream{Cluster: "u-1", Version: "v1", Resource: "configmaps"}},
		},
		{
			Table: "deployments_apps", Label: "east", Rows: 2, CurrentAt: now.Add(-time.Hour), Committed: now.Add(-2 * time.Hour),
			State: durable.State{
				Epoch: 3, Point: reflector.Point{Version: "9", Unsure: unsure, MoreUnsure: 100}, Unselected: true, Reshaped: true,
				Stream: durable.Stream{Cluster: "u-1", Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", LabelSelector: "app=web", FieldSelector: "metadata.name=x"},
			},
		},
		{
			Table: "nodes", Rows: 1, Committed: now.Add(-50 * time.Millisecond),
			State: durable.State{Epoch: 1, Stream: durable.Stream{Cluster: "bad\x1b[2J", Version: "v1", Resource: "nodes"}},
		},
		{
			Table: "pods", Rows: 4, CurrentAt: now.Add(-time.Minute), Committed: now.Add(8760 * time.Hour), History: true, Off: true, Gaps: 2,
			State: durable.State{Epoch: 2, Stream: durable.Stream{Cluster: "u-1", Version: "v1", Resource: "pods"}},
		},
	}
}

func TestStatusScreen(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	must.OK(t, printStreams(&out, database.Place{File: "c.db"}, streams(now), now))
	const want = `configmaps
  resource     configmaps, version v1
  cluster      u-1
  rows         3
  version      7, written 1m0s ago
  last commit  1s ago
  unsure       0
  history      configmaps_history, 1 gap, 1 by a list
  opened       1 time

deployments_apps
  resource     "deployments.apps in shop", version v1
  cluster      east, u-1
  labels       app=web
  fields       metadata.name=x
  rows         2
  version      9, written 1h0m0s ago
  last commit  2h0m0s ago
  unsure       112
               a/a
               a/b
               a/c
               a/d
               a/e
               a/f
               a/g
               a/h
               a/i
               a/j
               and 102 more
  selectors    they were changed: some rows may be of others until the next list
  shape        it was changed, by --drop for example: the rows of unsure keys may have the old one
  opened       3 times

nodes
  resource     nodes, version v1
  cluster      "bad\x1b[2J"
  rows         1
  version      (none): the first list is not whole; rows may be missing
  last commit  50ms ago
  unsure       0
  opened       1 time

pods
  resource     pods, version v1
  cluster      u-1
  rows         4
  version      (none), and none was written since 1m0s ago: rows are of different times, and some may be missing
  last commit  8760h0m0s from now (a clock is wrong)
  unsure       0
  history      pods_history, off: the states that it has as present may have ended; 2 gaps, 0 by a list
  opened       2 times
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out.Reset()
	if err := printStreams(&out, database.Place{File: "c.db"}, nil, now); err != nil || out.String() != "sqlite:c.db has no copies yet\n" {
		t.Errorf("%v, %q", err, out.String())
	}
}

// told are copies that somebody tells.
type told struct {
	database.Reader
	streams []database.Stream
	err     error
}

func (r told) Streams(context.Context) ([]database.Stream, error) { return r.streams, r.err }

func TestOverviewScreen(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for output, want := range map[string]string{
		"table": `TABLE              CLUSTER   ROWS   VERSION   UNSURE   AGE
configmaps                   3      7         0        1s
deployments_apps   east      2      9         112      120m
nodes                        1      <null>    0        0s
pods                         4      <null>    0        0s
`,
		"json": `{"table":"configmaps","cluster":"","rows":3,"version":"7","unsure":0,"age":"1s"}
{"table":"deployments_apps","cluster":"east","rows":2,"version":"9","unsure":112,"age":"120m"}
{"table":"nodes","cluster":"","rows":1,"version":null,"unsure":0,"age":"0s"}
{"table":"pods","cluster":"","rows":4,"version":null,"unsure":0,"age":"0s"}
`,
	} {
		var out bytes.Buffer
		must.OK(t, overview(t.Context(), told{streams: streams(now)}, newRows(&out, output), now))
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", output, diff)
		}
	}
	broken := errors.New("broken")
	if err := overview(t.Context(), told{err: broken}, newRows(&bytes.Buffer{}, "table"), now); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// status and query without a statement read a real file.
func TestStatusOfAFile(t *testing.T) {
	w := newWorld(t, 2)
	w.once("--label", "east", "--history", "1h")
	r := command(t, "status", "sqlite:"+w.file)
	for _, want := range []string{"configmaps\n", "  cluster      east, ", "  rows         2\n", "  version      4, written ", "  history      configmaps_history, 1 gap, 1 by a list\n"} {
		if r.status != cli.ExitOK || !strings.Contains(r.stdout, want) {
			t.Errorf("status %d, %q is not in\n%s%s", r.status, want, r.stdout, r.stderr)
		}
	}
	r = command(t, "query", w.file, "-o", "csv")
	if r.status != cli.ExitOK || !strings.HasPrefix(r.stdout, "table,cluster,rows,version,unsure,age\r\nconfigmaps,east,2,4,0,") {
		t.Errorf("status %d, %q", r.status, r.stdout)
	}
}
