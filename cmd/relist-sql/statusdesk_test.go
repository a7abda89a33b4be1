package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/internal/cli/clitest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/reflector"
)

// get returns the answer of a command that was started with --status-listen.
func (p *process) get(path string) (int, string) {
	p.t.Helper()
	p.errors.Await(p.t, "/status\n")
	_, rest, _ := strings.Cut(p.errors.String(), "status on ")
	base, _, _ := strings.Cut(rest, "/status\n")
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, base+path, http.NoBody)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// awaitAnswer asks until the answer has a text.
func (p *process) awaitAnswer(path, text string) string {
	p.t.Helper()
	deadline := time.Now().Add(clitest.Limit)
	for {
		_, body := p.get(path)
		if strings.Contains(body, text) {
			return body
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s lacks %q:\n%s", path, text, body)
		}
	}
}

func TestStatusOverHTTP(t *testing.T) {
	w := newWorld(t, 2)
	p := start(t, "mirror", "cm,nodes", "-A", "--server", w.url, "--to", "sqlite:"+w.file, "--status-listen", "127.0.0.1:0", "--max-staleness", "1h")
	p.out.Await(t, "configmaps  2 objects at ")
	p.out.Await(t, "nodes       0 objects at ")
	for _, probe := range []string{"/healthz", "/readyz"} {
		if code, body := p.get(probe); code != http.StatusOK || body != "ok\n" {
			t.Errorf("%s: %d %q", probe, code, body)
		}
	}
	var s statusReport
	if _, body := p.get("/status"); json.Unmarshal([]byte(body), &s) != nil || !s.Healthy || len(s.Copies) != 2 {
		t.Fatalf("/status: %s", body)
	}
	if c := s.Copies[0]; c.Resource != "configmaps" || c.Table != "configmaps" || c.CommittedVersion == "" || c.Changes != 2 || c.Commits < 2 || c.CommitFailures != 0 || c.Unsure == nil {
		t.Errorf("%+v", c)
	}
	_, body := p.get("/metrics")
	for _, want := range []string{
		`relist_sink_changes_total{name="configmaps"} 2`, `relist_sink_changes_total{name="nodes"} 0`, `relist_sink_unsure_keys{name="configmaps"} 0`,
		`relist_sink_failures_total{name="configmaps"} 0`, `relist_sink_synced{name="nodes"} 1`, `relist_synced{name="configmaps"} 1`,
		`relist_lists_total{name="configmaps",result="success"} 1`, "# TYPE relist_sink_commits_total counter", "# TYPE relist_sink_lag_seconds gauge",
	} {
		if strings.Count(body, "\n"+want+"\n") != 1 {
			t.Errorf("%s is not once in\n%s", want, body)
		}
	}
	if r := p.interrupt(); r.status != cli.ExitOK {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
}

// While the file cannot be written, the command says so once, counts, and continues when it can.
// Here the folder of the file is moved away and back: if only the file were, the command could make
// a new one before the test has put something else in its place.
func TestDatabaseAway(t *testing.T) {
	w := newWorld(t, 1)
	folder := filepath.Join(t.TempDir(), "copies")
	must.OK(t, os.Mkdir(folder, 0o700))
	w.file = filepath.Join(folder, "c.db")
	p := start(t, w.mirror("--status-listen", "127.0.0.1:0", "--max-staleness", "1h")...)
	p.out.Await(t, "1 object at ")
	must.OK(t, os.Rename(folder, folder+".away"))
	w.configMap("meanwhile", "1")
	p.errors.Await(t, `level=WARN msg="relist: copy cannot be written" resource=configmaps`)
	p.awaitAnswer("/status", `"copyFailingSince"`)
	if code, _ := p.get("/readyz"); code != http.StatusOK {
		t.Errorf("/readyz: %d, but there are rows to read", code)
	}
	must.OK(t, os.Rename(folder+".away", folder))
	p.errors.Await(t, "relist: copy written again")
	w.awaitRow(p, "a/meanwhile")
	if r := p.interrupt(); r.status != cli.ExitOK || strings.Count(r.stderr, "cannot be written") != 1 {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
}

// The copies of a program are opened together. If one of them cannot be, the others are as they
// were, and the command does not say that they are not whole.
func TestCopyThatCannotBeOpened(t *testing.T) {
	w := newWorld(t, 2)
	mirror := []string{"mirror", "cm,nodes", "-A", "--server", w.url, "--to", "sqlite:" + w.file}
	if r := command(t, append(mirror, "--once")...); r.status != cli.ExitOK {
		t.Fatal(r.stderr)
	}
	conn, err := driver.OpenConn(w.file, driver.OpenReadWrite)
	must.OK(t, err)
	defer conn.Close()
	must.OK(t, sqlitex.ExecuteTransient(conn, "UPDATE relist_state SET state = 'x' WHERE table_name = 'nodes'", nil))
	p := start(t, append(mirror, "--status-listen", "127.0.0.1:0")...)
	p.awaitAnswer("/healthz", "configmaps: the copy is not open; all copies are opened together")
	status := p.awaitAnswer("/status", "the copy is not open: load the state of the copy of nodes: ")
	if strings.Count(status, `"stalenessSeconds"`) != 1 {
		t.Errorf("nobody knows how stale ConfigMaps are, want the staleness of nodes alone: %s", status)
	}
	if r := p.interrupt(); r.status != cli.ExitOK || strings.Count(r.stdout, "was not opened, and is as it was\n") != 2 {
		t.Errorf("status %d, stdout %q", r.status, r.stdout)
	}
}

// A first list is committed in parts. If the file takes the first ones, and not the rest, the
// command says once that it cannot be written, and once that it can.
func TestFirstListThatDoesNotFit(t *testing.T) {
	w := newWorld(t, 700)
	w.once("--field-selector", "metadata.name=c0000")
	conn, err := driver.OpenConn(w.file, driver.OpenReadWrite)
	must.OK(t, err)
	defer conn.Close()
	statement := func(text string) {
		t.Helper()
		must.OK(t, sqlitex.ExecuteTransient(conn, text, nil))
	}
	statement("CREATE TRIGGER full BEFORE INSERT ON configmaps WHEN new.name = 'c0699' BEGIN SELECT RAISE(ABORT, 'no room'); END")
	p := start(t, w.mirror("--status-listen", "127.0.0.1:0")...) // without the selector: the copy is listed, and has no version until that is whole
	p.awaitAnswer("/status", `"commitFailures": 4,`)
	statement("DROP TRIGGER full")
	p.out.Await(t, "700 objects at ")
	r := p.interrupt()
	for _, once := range []string{"relist: copy cannot be written", "relist: copy written again"} {
		if r.status != cli.ExitOK || strings.Count(r.stderr, once) != 1 {
			t.Errorf("status %d, want %q once in stderr:\n%s", r.status, once, r.stderr)
		}
	}
}

// Rows are as old as the oldest of three things: what the server said last, what waits for its
// commit, and the last commit that worked.
func TestStaleness(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	heard := reflector.Status{Started: ago(time.Hour), State: reflector.Watching, Since: ago(time.Hour), Synced: true, LastByte: ago(time.Minute)}
	for _, tt := range []struct {
		name    string
		status  reflector.Status
		failing time.Time
		lag     time.Duration
		want    time.Duration
	}{
		{"not begun", reflector.Status{}, time.Time{}, 0, 0},
		{"heard", heard, time.Time{}, time.Second, time.Minute},
		{"waits", heard, time.Time{}, 2 * time.Minute, 2 * time.Minute},
		{"fails", heard, ago(3 * time.Minute), time.Second, 3 * time.Minute},
	} {
		if got := staleness(tt.status, tt.failing, tt.lag, now); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Until the first copy is whole, nothing is healthy or ready, and the reason is there.
func TestNotReady(t *testing.T) {
	w := newWorld(t, 1)
	// The first list is of one object, and tells how many there are. The lists that bring them all
	// fail.
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/configmaps") && req.URL.Query().Get("limit") != "1" {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(rw, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not yet","code":500}`)
			return
		}
		w.server.ServeHTTP(rw, req)
	}))
	defer srv.Close()
	w.url = srv.URL
	p := start(t, w.mirror("--status-listen", "127.0.0.1:0")...)
	p.awaitAnswer("/healthz", "configmaps: the first copy is not whole: ")
	p.awaitAnswer("/readyz", "not yet")
	if code, _ := p.get("/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("/readyz: %d", code)
	}
	p.errors.Await(t, `msg="relist: failing" resource=configmaps reason=failed error="`)
	if r := p.interrupt(); r.status != cli.ExitOK || !strings.Contains(r.stdout, "the first copy is not whole; the next start continues with it\n") {
		t.Errorf("status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
	}
}
