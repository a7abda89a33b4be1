package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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

// program is the program with a kubeconfig for a server. It is killed after a minute, so that a test that waits for a line which never
// comes fails then.
func program(ctx context.Context, t *testing.T, server string) *exec.Cmd {
	t.Helper()
	ctx, kill := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(kill)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c"}}], "clusters": [{"name": "c", "cluster": {"server": %q}}]}`, server)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "CONTROLLER=1", "KUBECONFIG="+path)
	return cmd
}

// cluster is an API server that knows Shops, and the writes that it has answered, of ConfigMaps and of the status of Shops.
type cluster struct {
	*apitest.Server
	t                *testing.T
	url              string
	writes, statuses chan string
	refused          chan struct{} // watches that failed
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	writes, statuses, refused := make(chan string, 100), make(chan string, 100), make(chan struct{}, 100)
	server, url := apitest.Start(t, apitest.Options{
		Resources: append(apitest.DefaultResources(), apitest.Resource{Group: "example.com", Version: "v1", Plural: "shops", Kind: "Shop", Custom: true, Status: true}),
		Log: func(r apitest.LoggedRequest) {
			switch {
			case r.Status == http.StatusServiceUnavailable:
				refused <- struct{}{}
			case r.Method != http.MethodPatch && r.Method != http.MethodPost:
			case strings.Contains(r.URI, "/shops/"):
				statuses <- http.StatusText(r.Status)
			default:
				writes <- http.StatusText(r.Status)
			}
		},
	})
	return &cluster{Server: server, t: t, url: url, writes: writes, statuses: statuses, refused: refused}
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

// blind keeps the ConfigMaps of the program as they are in its cache: its watch of them fails.
func (c *cluster) blind() {
	c.t.Helper()
	if err := c.FailNext(apitest.Failure{Verb: "watch", Resource: "configmaps", Status: http.StatusServiceUnavailable, For: time.Hour}); err != nil {
		c.t.Fatal(err)
	}
	c.EndWatches()
}

// foreign makes the ConfigMap of somebody else.
func (c *cluster) foreign() {
	c.t.Helper()
	_, err := c.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "town", "name": "bakery"}, "data": map[string]any{"bread": "300"}})
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

// published waits for a write of the status after which the Shop has published n prices.
func (c *cluster) published(n int) {
	c.t.Helper()
	for over := time.After(20 * time.Second); ; {
		select {
		case got := <-c.statuses:
			var shop Shop
			c.get("/apis/example.com/v1/namespaces/town/shops/bakery", &shop)
			if got == "OK" && shop.Status.Published == n {
				return
			}
		case <-over:
			c.t.Fatalf("the status was not written so that it has %d prices", n)
		}
	}
}

func (c *cluster) data() string {
	c.t.Helper()
	var got ConfigMap
	c.get("/api/v1/namespaces/town/configmaps/bakery", &got)
	data, err := json.Marshal(got.Data)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(data)
}

// get reads an object.
func (c *cluster) get(path string, into any) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.url+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		c.t.Fatal(err)
	}
}

func TestController(t *testing.T) {
	c := newCluster(t)
	c.shop(c.Create, map[string]any{"bread": "3"})
	cmd := program(t.Context(), t, c.url)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.written("Created", `{"bread":"3"}`)
	c.published(1)

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
	c.published(2)

	c.shop(c.Update, map[string]any{"cake": "9"})
	c.written("OK", `{"cake":"9"}`)
	c.published(1)

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
	if err := c.FailNext(apitest.Failure{Verb: "create", Status: 500, Reason: "InternalError"}); err != nil {
		t.Fatal(err)
	}
	c.shop(c.Create, map[string]any{"bread": "3"})
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	cmd := program(ctx, t, c.url)
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
			t.Fatalf("logged %s, want %s; %v", lines.Text(), want, lines.Err())
		}
	}
	logged("create configmaps town/bakery: post " + c.url + "/api/v1/namespaces/town/configmaps: 500 InternalError")
	if got := <-c.writes; got != "Internal Server Error" {
		t.Errorf("a write was answered with %s", got)
	}
	c.written("Created", `{"bread":"3"}`)
	logged("relist: reconcile recovered")

	_, err = c.Patch("configmaps", "town", "bakery", map[string]any{
		"metadata": map[string]any{"ownerReferences": nil}, "data": map[string]any{"bread": "300"},
	})
	if err != nil {
		t.Fatal(err)
	}
	logged("configmaps town/bakery does not belong to Shop bakery: it is controlled by another owner, or by none")
	kill()
	_ = cmd.Wait() // it was killed
	if got := c.data(); got != `{"bread":"300"}` {
		t.Errorf("somebody else's ConfigMap has become %s", got)
	}
}

// A ConfigMap of somebody else is left alone even if the cache does not have it.
func TestUnseen(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(c *cluster) // what the program has seen
		after  func(c *cluster)
		answer string
	}{
		{
			"a new one",
			func(*cluster) {},
			func(c *cluster) { c.foreign(); c.shop(c.Create, map[string]any{"bread": "3"}) },
			"Conflict",
		},
		{
			"one in the place of the program's own",
			func(c *cluster) {
				c.shop(c.Create, map[string]any{"bread": "3"})
				c.published(1) // which comes after the program has seen its ConfigMap
			},
			func(c *cluster) {
				if _, err := c.Delete("configmaps", "town", "bakery"); err != nil {
					c.t.Fatal(err)
				}
				c.foreign()
				c.shop(c.Update, map[string]any{"bread": "4"})
			},
			"Conflict",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t)
			ctx, kill := context.WithCancel(t.Context())
			defer kill()
			cmd := program(ctx, t, c.url)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			tt.before(c)
			if err := c.WaitForWatches(t.Context(), "configmaps", 1); err != nil {
				t.Fatal(err)
			}
			c.blind()
			<-c.refused
			tt.after(c)
			c.written(tt.answer, `{"bread":"300"}`)
			kill()
			_ = cmd.Wait() // it was killed
			var got ConfigMap
			if c.get("/api/v1/namespaces/town/configmaps/bakery", &got); len(got.OwnerReferences) > 0 {
				t.Errorf("somebody else's ConfigMap belongs to %v", got.OwnerReferences)
			}
		})
	}
}

func TestBadServer(t *testing.T) {
	cmd := program(t.Context(), t, "ftp://x")
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), "not an http") {
		t.Errorf("exit status %d, %v, output %q", code, err, out)
	}
}
