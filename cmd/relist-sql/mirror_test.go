package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/internal/must"
)

// The second run lists nothing: it continues where the first has ended, and brings what happened in
// between.
func TestOnceGoesOn(t *testing.T) {
	w := newWorld(t, 3)
	r := w.once()
	if want := "copying configmaps from " + w.url + " to sqlite:" + w.file + "\n3 objects at 5, took "; !strings.HasPrefix(r.stdout, want) || r.stderr != "" {
		t.Errorf("stdout %q, stderr %q, want %q", r.stdout, r.stderr, want)
	}
	w.want("SELECT key, object ->> '$.data.value' FROM configmaps ORDER BY 1", "a/c0000,0\na/c0001,0\na/c0002,0\n")

	w.configMap("new", "1")
	if _, err := w.server.Delete("configmaps", "a", "c0001"); err != nil {
		t.Fatal(err)
	}
	before := w.listed()
	r = w.once()
	if !strings.Contains(r.stdout, "\ncontinues at ") || w.listed() != before {
		t.Errorf("%d lists, stdout %q", w.listed()-before, r.stdout)
	}
	w.want("SELECT key FROM configmaps ORDER BY 1", "a/c0000\na/c0002\na/new\n")
}

// A copy of an empty resource is whole, too.
func TestOnceOfNothing(t *testing.T) {
	w := newWorld(t, 0)
	w.once()
	w.want("SELECT count(*), (SELECT version <> '' FROM relist_state) FROM configmaps", "0,1\n")
}

func TestMirrorColumnsAndDrops(t *testing.T) {
	w := newWorld(t, 1)
	w.create("nodes", "", "n1", nil)
	args := []string{
		"mirror", "cm,nodes", "-A", "--server", w.url, "--to", "sqlite:" + w.file, "--once", "--label", "east", "--drop", "data.other",
		"--columns", "configmaps:value=.data.value", "--columns", "full=.metadata.name",
	}
	if r := command(t, args...); r.status != cli.ExitOK || !strings.Contains(r.stdout, "configmaps  1 object at ") {
		t.Fatalf("status %d: %s%s", r.status, r.stdout, r.stderr)
	}
	w.want("SELECT cluster, value, full, object -> '$.data' FROM configmaps", `east,0,c0000,"{""value"":""0""}"`+"\n")
	w.want("SELECT cluster, full FROM nodes", "east,n1\n")
	w.want("SELECT count(*) FROM configmaps WHERE object -> '$.metadata.managedFields' IS NOT NULL", "0\n")
	if r := command(t, "query", w.file, "SELECT value FROM nodes"); !strings.Contains(r.stderr, "no such column: value; at column 8: value FROM nodes") {
		t.Errorf("a column of ConfigMaps is in the table of nodes: %q", r.stderr)
	}
}

// With other selectors, rows that no longer match go away.
func TestMirrorOtherSelectors(t *testing.T) {
	w := newWorld(t, 2)
	w.create("configmaps", "b", "other", nil)
	w.once()
	w.want("SELECT count(*) FROM configmaps", "3\n")
	w.once("--field-selector", "metadata.name=c0001")
	w.want("SELECT key FROM configmaps", "a/c0001\n")
}

func TestMirrorHistory(t *testing.T) {
	w := newWorld(t, 1)
	w.once("--history", "1h")
	if _, err := w.server.Delete("configmaps", "a", "c0000"); err != nil {
		t.Fatal(err)
	}
	w.once("--history", "1h")
	w.want("SELECT key, ended FROM configmaps_history", "a/c0000,deleted\n")
}

// SIGTERM commits what has come, and the exit status is 0.
func TestTerminate(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // has no way to send a signal to another process
	}
	w := newWorld(t, 2)
	cmd, p := startProcess(t, w.mirror()...)
	p.out.Await(t, "2 objects at ")
	w.configMap("late", "1")
	version := w.server.ResourceVersion()
	w.awaitRow(p, "a/late")
	must.OK(t, cmd.Process.Signal(syscall.SIGTERM))
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, p.errors)
	}
	if !strings.Contains(p.out.String(), "stopped at "+version+", 3 rows written\n") {
		t.Errorf("stdout %q", p.out)
	}
}

// awaitRow waits until the copy that a process writes has a row.
func (w *world) awaitRow(p *process, key string) {
	w.Helper()
	for w.query("SELECT count(*) FROM configmaps WHERE key = '"+key+"'") == "0\n" {
		if err := w.Context().Err(); err != nil {
			w.Fatalf("%v\n%s%s", err, p.out, p.errors)
		}
	}
}

// A file has one writer, except if all have --shared. Then of two that write one copy the first
// ends.
func TestTwoAtATime(t *testing.T) {
	w := newWorld(t, 1)
	first := start(t, w.mirror("--shared")...)
	first.out.Await(t, "1 object at ")
	locked := start(t, "mirror", "nodes", "--server", w.url, "--to", "sqlite:"+w.file+"2")
	locked.out.Await(t, "0 objects at ")
	for _, tt := range []struct{ file, more string }{{w.file + "2", "--shared=false"}, {w.file + "2", "--shared"}, {w.file, "--shared=false"}} {
		r := command(t, "mirror", "nodes", "--server", w.url, "--to", "sqlite:"+tt.file, tt.more)
		if want := "relist-sql mirror: sqlite:" + tt.file + ": another program writes to it: stop that program; or start both with --shared, if they write different copies\n"; r.status != exitFenced || r.stderr != want {
			t.Errorf("%+v: status %d, stderr %q, want %q", tt, r.status, r.stderr, want)
		}
	}

	second := start(t, w.mirror("--shared")...)
	second.out.Await(t, "continues at ")
	w.configMap("next", "1") // the first one writes, and learns that it must not
	r := first.wait()
	want := "relist-sql mirror: configmaps in sqlite:" + w.file + ": another program has opened the copy, and writes to it now; what this program had committed is kept: let one program write a copy\n"
	if r.status != exitFenced || r.stderr != want {
		t.Errorf("status %d, stderr %q, want %d, %q", r.status, r.stderr, exitFenced, want)
	}
	w.awaitRow(second, "a/next")
	if r := second.interrupt(); r.status != cli.ExitOK {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
}

// Errors at the start are one line that says what to do. A resource that cannot be read makes no
// file.
func TestMirrorErrors(t *testing.T) {
	w := newWorld(t, 1)
	w.once()
	other := newWorld(t, 1)
	dir := t.TempDir()
	must.OK(t, os.WriteFile(filepath.Join(dir, "text"), []byte(strings.Repeat("not a database ", 100)), 0o600))
	must.OK(t, other.server.FailNext(apitest.Failure{Verb: "list", Resource: "secrets", Status: 403, Reason: "Forbidden", Message: "secrets is forbidden"}))
	bare := apitest.New(apitest.Options{})
	t.Cleanup(func() { _ = bare.Close() })
	ln, err := bare.Listen("127.0.0.1:0")
	must.OK(t, err)
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"another cluster": {[]string{"cm", "-A", "--server", other.url, "--to", "sqlite:" + w.file}, "use another copy, or delete this one; a second cluster can be in the same database by another --label"},
		"not a database":  {[]string{"cm", "--server", w.url, "--to", "sqlite:" + dir + "/text"}, "name another file, or move this one away"},
		"no folder":       {[]string{"cm", "--server", w.url, "--to", "sqlite:" + dir + "/none/x.db"}, "the folder " + dir + "/none does not exist: make it first"},
		"unknown":         {[]string{"podz", "--server", w.url, "--to", "sqlite:" + dir + "/x"}, `the server has no resource "podz"; did you mean pods?`},
		"forbidden":       {[]string{"secrets", "-A", "--server", other.url, "--to", "sqlite:" + dir + "/x"}, "does not permit this (403): secrets is forbidden"},
		"bad selector":    {[]string{"cm", "--field-selector", "spec.shape=round", "--server", w.url, "--to", "sqlite:" + dir + "/x"}, "refuses the request (400)"},
		"no cluster":      {[]string{"cm", "--server", ln.URL, "--to", "sqlite:" + dir + "/x"}, "allow the verb get on the namespace kube-system, or name the cluster with --cluster"},
		"bad drop":        {[]string{"cm", "--drop", "metadata.name", "--server", w.url, "--to", "sqlite:" + dir + "/x"}, "metadata.name"},
		"no database":     {[]string{"cm", "--server", w.url, "--to", "postgres://u:secret@127.0.0.1:1/d?connect_timeout=1"}, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			r := command(t, append([]string{"mirror"}, tt.args...)...)
			if r.status != cli.ExitError || !strings.Contains(r.stderr, tt.want) || strings.Count(r.stderr, "\n") != 1 || strings.Contains(r.stderr, "secret@") {
				t.Errorf("status %d, stderr %q, want %q", r.status, r.stderr, tt.want)
			}
		})
	}
	if _, err := os.Stat(dir + "/x"); err == nil {
		t.Error("a file was made for a resource that cannot be read")
	}
}

// A server that is away later, and a watch that is refused, end nothing. The problem is told once.
func TestMirrorGoesOnWithoutServer(t *testing.T) {
	w := newWorld(t, 1)
	p := start(t, w.mirror()...)
	p.out.Await(t, "1 object at ")
	must.OK(t, w.server.FailNext(apitest.Failure{Verb: "watch", Status: 500, Message: "etcd is down", Count: 2}))
	w.server.CutWatches(0)
	p.errors.Await(t, "etcd is down")
	w.configMap("after", "1")
	w.awaitRow(p, "a/after")
	if r := p.interrupt(); r.status != cli.ExitOK || strings.Count(r.stderr, "etcd is down") != 1 {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
}
