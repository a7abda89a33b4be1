package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
)

// TestMain lets the test binary be the program.
func TestMain(m *testing.M) {
	if os.Getenv("CONTROLLER") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// program is the program with a server.
func program(ctx context.Context, server string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], server)
	cmd.Env = append(os.Environ(), "CONTROLLER=1")
	return cmd
}

// cluster is an API server that knows Shops, and the writes that it has answered.
type cluster struct {
	*apitest.Server
	t      *testing.T
	url    string
	writes chan string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	writes := make(chan string, 100)
	server, url := apitest.Start(t, apitest.Options{
		Resources: append(apitest.DefaultResources(), apitest.Resource{Group: "example.com", Version: "v1", Plural: "shops", Kind: "Shop", Custom: true}),
		Log: func(r apitest.LoggedRequest) {
			if r.Method == http.MethodPatch {
				writes <- http.StatusText(r.Status)
			}
		},
	})
	return &cluster{Server: server, t: t, url: url, writes: writes}
}

// shop makes or changes a Shop.
func (c *cluster) shop(write func(resource string, obj map[string]any) (string, error), prices map[string]any) {
	c.t.Helper()
	_, err := write("shops.example.com", map[string]any{
		"apiVersion": "example.com/v1", "kind": "Shop", "metadata": map[string]any{"namespace": "town", "name": "bakery"}, "prices": prices,
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// written waits for a write that is answered with a status and after which the ConfigMap has data. Others may come before: the
// controller writes once more if it looks at a Shop before it has seen its own write.
func (c *cluster) written(status, data string) {
	c.t.Helper()
	var all []string
	for over := time.After(20 * time.Second); ; {
		select {
		case got := <-c.writes:
			has := c.data()
			if got == status && has == data {
				return
			}
			all = append(all, got+", and then the ConfigMap has "+has)
		case <-over:
			c.t.Fatalf("no write was answered with %s so that the ConfigMap has %s; writes: %q", status, data, all)
		}
	}
}

func (c *cluster) data() string {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.url+"/api/v1/namespaces/town/configmaps/bakery", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	var got ConfigMap
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		c.t.Fatal(err)
	}
	data, err := json.Marshal(got.Data)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(data)
}

func TestController(t *testing.T) {
	c := newCluster(t)
	c.shop(c.Create, map[string]any{"bread": "3"})
	cmd := program(t.Context(), c.url)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.written("Created", `{"bread":"3"}`)

	if _, err := c.Delete("configmaps", "town", "bakery"); err != nil {
		t.Fatal(err)
	}
	c.written("Created", `{"bread":"3"}`)

	_, err := c.Patch("configmaps", "town", "bakery", map[string]any{"data": map[string]any{"bread": "300"}})
	if err != nil {
		t.Fatal(err)
	}
	c.written("OK", `{"bread":"3"}`)

	c.shop(c.Update, map[string]any{"bread": "4", "cake": "9"})
	c.written("OK", `{"bread":"4","cake":"9"}`)

	if runtime.GOOS == "windows" { // has no way to send a signal to another process
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGINT: %v", err)
	}
}

// A write that fails is sent again, and a ConfigMap of somebody else is left alone. The log says both.
func TestFailures(t *testing.T) {
	c := newCluster(t)
	if err := c.FailNext(apitest.Failure{Verb: "patch", Status: 500, Reason: "InternalError"}); err != nil {
		t.Fatal(err)
	}
	c.shop(c.Create, map[string]any{"bread": "3"})
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	cmd := program(ctx, c.url)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	logged := func(want string) { // of the controller; the informers log, too
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), "key=town/bakery") {
				break
			}
		}
		if !strings.Contains(lines.Text(), want) {
			t.Errorf("logged %s, want %s", lines.Text(), want)
		}
	}
	logged("apply configmaps town/bakery: patch " + c.url + "/api/v1/namespaces/town/configmaps/bakery: 500 InternalError")
	if got := <-c.writes; got != "Internal Server Error" {
		t.Errorf("the first write was answered with %s", got)
	}
	c.written("Created", `{"bread":"3"}`)

	_, err = c.Patch("configmaps", "town", "bakery", map[string]any{
		"metadata": map[string]any{"ownerReferences": nil}, "data": map[string]any{"bread": "300"},
	})
	if err != nil {
		t.Fatal(err)
	}
	logged("the ConfigMap belongs to somebody else")
	logged("failures=2")
	kill()
	_ = cmd.Wait() // it was killed
	if got := c.data(); got != `{"bread":"300"}` {
		t.Errorf("somebody else's ConfigMap has become %s", got)
	}
}

func TestBadServer(t *testing.T) {
	cmd := program(t.Context(), "ftp://x")
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), "not an http") {
		t.Errorf("exit status %d, %v, output %q", code, err, out)
	}
}
