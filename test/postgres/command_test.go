package check

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/must"
)

// program builds the command relist-sql once.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(shared.Dir, "relist-sql") // goes with the server
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = "../../cmd/relist-sql"
	if out, err := build.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

// commands runs relist-sql with a schema of its own.
type commands struct {
	*testing.T
	program, schema, db string
	server              *apitest.Server
	url                 string
}

func newCommands(t *testing.T) *commands {
	t.Helper()
	path, err := program()
	must.OK(t, err)
	c := &commands{T: t, program: path, schema: newSchema(t), db: shared.URL("postgres", nil)}
	c.server, c.url = apitest.Start(t, apitest.Options{BookmarkPeriod: 20 * time.Millisecond})
	c.create("namespaces", "", "kube-system", nil)
	return c
}

func (c *commands) create(resource, namespace, name string, rest map[string]any) {
	c.Helper()
	object := map[string]any{"metadata": map[string]any{"namespace": namespace, "name": name}}
	for k, v := range rest {
		object[k] = v
	}
	if _, err := c.server.Create(resource, object); err != nil {
		c.Fatal(err)
	}
}

// run runs the command to its end.
func (c *commands) run(args ...string) (status int, stdout, stderr string) {
	c.Helper()
	cmd := exec.CommandContext(c.Context(), c.program, append(args, "--schema", c.schema)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		c.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func (c *commands) mirror(more ...string) []string {
	return append([]string{"mirror", "-A", "--server", c.url, "--to", c.db}, more...)
}

// query returns the rows as CSV, without the line of names.
func (c *commands) query(statement string) string {
	c.Helper()
	status, out, errs := c.run("query", c.db, "-o", "csv", statement)
	if status != 0 {
		c.Fatalf("%s: status %d, %s", statement, status, errs)
	}
	_, rows, _ := strings.Cut(strings.ReplaceAll(out, "\r\n", "\n"), "\n")
	return rows
}

// running is a command that runs until it is killed.
type running struct {
	*exec.Cmd
	lines  *bufio.Scanner
	stderr bytes.Buffer
}

func (c *commands) start(args ...string) *running {
	c.Helper()
	r := &running{Cmd: exec.CommandContext(c.Context(), c.program, append(args, "--schema", c.schema)...)}
	r.Stderr = &r.stderr
	out, err := r.StdoutPipe()
	if err != nil {
		c.Fatal(err)
	}
	r.lines = bufio.NewScanner(out)
	if err := r.Start(); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = r.Process.Kill() })
	return r
}

// await reads lines until one has a text.
func (r *running) await(t *testing.T, text string) {
	t.Helper()
	for r.lines.Scan() {
		if strings.Contains(r.lines.Text(), text) {
			return
		}
	}
	_ = r.Wait()
	t.Fatalf("it has ended, and not said %q: %s", text, &r.stderr)
}

// inPostgres is a query of durable/README.md in the words of PostgreSQL, which a comment in it has.
var inPostgres = regexp.MustCompile(`(?m)(strftime\(.*\)|json_each\([^)]*\))(.*?) -- PostgreSQL: (.*)$`)

// relist-sql keeps the tables of durable/README.md, and the queries of that page return the same as
// with SQLite.
func TestCommandQueriesOfTheDocs(t *testing.T) {
	c := newCommands(t)
	for _, name := range []string{"web-1", "web-2"} {
		c.create("pods", "shop", name, map[string]any{
			"metadata": map[string]any{"namespace": "shop", "name": name, "labels": map[string]any{"app": "web"}},
			"spec":     map[string]any{"nodeName": "n1", "containers": []any{map[string]any{"name": "c", "image": "web:2"}}},
		})
	}
	c.create("deployments.apps", "shop", "web", nil)
	args := c.mirror("pods,deployments", "--once", "--label", "east", "--history", "24h", "--columns", "pods:node=.spec.nodeName",
		"--columns", "pods:image=.spec.containers[0].image", "--columns", "deployments:image=.spec.template.spec.containers[0].image")
	for i := range 2 {
		if status, out, errs := c.run(args...); status != 0 || errs != "" || i == 1 && !strings.Contains(out, "continues at ") {
			t.Fatalf("status %d: %s%s", status, out, errs)
		}
		if i == 0 {
			if _, err := c.server.Delete("pods", "shop", "web-2"); err != nil {
				t.Fatal(err)
			}
		}
	}
	page, err := os.ReadFile("../../durable/README.md")
	must.OK(t, err)
	queries := regexp.MustCompile("(?s)\n```sql\n(.*?)\n```\n").FindAllStringSubmatch(string(page), -1)
	state := strings.Split(strings.TrimSpace(c.query("SELECT from_time, resource_version, to_version FROM pods_history WHERE key = 'shop/web-2'")), ",")
	moment := strings.NewReplacer("2026-11-22T14:05:00.000Z", state[0], "shop/web-3", "shop/web-2")
	want := []string{"n1,web:2,1\n", "shop/web-2,deleted\n", state[1], state[1] + "," + state[2] + ",deleted", "shop/web,,\n", "app,web,1\n"}
	if len(queries) != len(want) {
		t.Fatalf("durable/README.md has %d queries, want %d", len(queries), len(want))
	}
	for i, query := range queries {
		got := c.query(moment.Replace(inPostgres.ReplaceAllString(query[1], "$3$2")))
		switch i {
		case 1:
			_, got, _ = strings.Cut(got, ",") // the time
		case 2, 3:
			got, _, _ = strings.Cut(got, `,"{`) // the object
		}
		if got != want[i] {
			t.Errorf("%s:\n%swant:\n%s", query[1], got, want[i])
		}
	}
}

func TestCommandOutputs(t *testing.T) {
	c := newCommands(t)
	c.create("configmaps", "a", "one", map[string]any{"data": map[string]any{"k": "v"}})
	if status, out, errs := c.run(c.mirror("cm", "--once")...); status != 0 {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	status, out, errs := c.run("query", c.db, "-o", "json", `SELECT key, object -> 'data' AS data, 1.50 AS n, 'NaN'::float AS nan, true AS yes, NULL AS nothing FROM configmaps`)
	if want := `{"key":"a/one","data":{"k": "v"},"n":1.50,"nan":"NaN","yes":true,"nothing":null}` + "\n"; status != 0 || out != want {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	if status, out, _ := c.run("query", c.db, "-o", "csv"); status != 0 || !strings.HasPrefix(out, "table,cluster,rows,version,unsure,age\r\nconfigmaps,\"\",1,3,0,") {
		t.Errorf("status %d, %q", status, out)
	}
	if status, out, _ := c.run("status", c.db); status != 0 || !strings.Contains(out, "  rows         1\n") || !strings.Contains(out, "  version      3, written ") {
		t.Errorf("status %d, %q", status, out)
	}
	for statement, want := range map[string]string{
		"SELECT 'ü', missing":    `column "missing" does not exist (SQLSTATE 42703); at column 13: missing`,
		"SELECT 1; SELECT 2":     "cannot insert multiple commands into a prepared statement (SQLSTATE 42601)",
		"DELETE FROM configmaps": "it only reads: cannot execute DELETE in a read-only transaction (SQLSTATE 25006)",
		"DO $$ BEGIN COMMIT; SET TRANSACTION READ WRITE; DELETE FROM configmaps; END $$": "invalid transaction termination (SQLSTATE 2D000)",
		"DO $$ BEGIN SET TRANSACTION READ WRITE; DELETE FROM configmaps; END $$":         "transaction read-write mode must be set before any query (SQLSTATE 25001)",
		"SELECT 1 / (length(key) - 5) FROM configmaps":                                   "division by zero (SQLSTATE 22012)",
		"SELECT $1::int": "a statement here has no parameters such as $1",
	} {
		status, out, errs := c.run("query", c.db, statement)
		if status != 1 || errs != "relist-sql query: "+want+"\n" || out != "" {
			t.Errorf("%s: status %d, %q, %q", statement, status, out, errs)
		}
	}
	if status, _, errs := c.run("query", c.db, "-o", "csv", "SELECT 1"); status != 0 {
		t.Errorf("status %d, %q", status, errs)
	}
	c.schema = "nothing_here"
	if status, _, errs := c.run("status", c.db); status != 1 || !strings.Contains(errs, "the schema nothing_here has no copies: relist-sql mirror makes them") {
		t.Errorf("status %d, %q", status, errs)
	}
}

// A role that may not use the schema, or cannot connect, is told what to do.
func TestCommandRights(t *testing.T) {
	c := newCommands(t)
	c.create("configmaps", "a", "one", nil)
	if status, out, errs := c.run(c.mirror("cm", "--once")...); status != 0 {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	conn, role := admin(t, shared), "reader_"+c.schema
	exec1(t, conn, `CREATE ROLE `+role+` LOGIN`)
	c.db = shared.URL(role, nil)
	grant := `GRANT USAGE ON SCHEMA "` + c.schema + `" TO "` + role + `"; GRANT SELECT ON ALL TABLES IN SCHEMA "` + c.schema + `" TO "` + role + `"`
	told := ": the role " + role + " may not use the schema " + c.schema + "; its owner writes " + grant + "\n"
	want := func(status int, text string, args ...string) {
		t.Helper()
		if got, out, errs := c.run(args...); got != status || errs != text {
			t.Errorf("relist-sql %q: status %d, %q, %q, want %q", args, got, out, errs, text)
		}
	}
	const statement = "SELECT key FROM configmaps"
	want(1, `relist-sql query: relation "configmaps" does not exist (SQLSTATE 42P01)`+told, "query", c.db, statement)
	want(1, "relist-sql query: ERROR: permission denied for schema "+c.schema+" (SQLSTATE 42501)"+told, "query", c.db)
	want(1, "relist-sql status: ERROR: permission denied for schema "+c.schema+" (SQLSTATE 42501)"+told, "status", c.db)
	exec1(t, conn, strings.Split(grant, "; ")[0])
	want(1, "relist-sql query: permission denied for table configmaps (SQLSTATE 42501)\n", "query", c.db, statement)
	want(1, `relist-sql query: relation "cm" does not exist (SQLSTATE 42P01); at column 17: cm`+"\n", "query", c.db, "SELECT key FROM cm")
	exec1(t, conn, strings.Split(grant, "; ")[1])
	want(0, "", "query", c.db, statement)
	want(0, "", "status", c.db)

	c.db = strings.Replace(c.db, role, "nobody_"+c.schema, 1)
	for _, args := range [][]string{{"query", c.db, statement}, {"status", c.db}} {
		text := "relist-sql " + args[0] + `: postgres: failed to connect as "nobody_` + c.schema + `" to the database "postgres": `
		if status, _, errs := c.run(args...); status != 1 || !strings.HasPrefix(errs, text) || !strings.HasSuffix(errs, "(check the name of the role, and whether pg_hba.conf of the server lets it in from here)\n") {
			t.Errorf("relist-sql %s: status %d, %q", args[0], status, errs)
		}
	}
}

// With --standby, a second program waits until the first is gone, and goes on where that was.
// Without it, the second goes on at once, and the first ends with a status of its own.
func TestCommandStandbyAndFence(t *testing.T) {
	c := newCommands(t)
	c.create("configmaps", "a", "one", nil)
	first := c.start(c.mirror("cm", "--standby")...)
	first.await(t, "1 object at ")
	second := c.start(c.mirror("cm", "--standby")...)
	second.await(t, "waiting until no other program writes to postgres://")
	must.OK(t, first.Process.Kill())
	_ = first.Wait() // it was killed
	second.await(t, "continues at ")

	// A connection that is lost makes it wait again, for nobody here.
	if _, err := admin(t, shared).Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted"); err != nil {
		t.Fatal(err)
	}
	second.await(t, "copying configmaps from ")
	second.await(t, "continues at ")

	third := c.start(c.mirror("cm")...)
	third.await(t, "continues at ")
	c.create("configmaps", "a", "two", nil) // the second one writes, and learns that it must not
	err := second.Wait()
	if second.ProcessState.ExitCode() != 3 || !strings.Contains(second.stderr.String(), "start all with --standby, so that one waits for another") {
		t.Errorf("%v: %s", err, &second.stderr)
	}
}
