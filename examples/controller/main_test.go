package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// cluster is an API server that knows Shops, and the writes that it has answered, of ConfigMaps and
// of the status of Shops.
type cluster struct {
	*apitest.Server
	t                *testing.T
	url              string
	writes, statuses chan string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	writes, statuses := make(chan string, 100), make(chan string, 100)
	server, url := apitest.Start(t, apitest.Options{
		Resources: append(apitest.DefaultResources(), apitest.Resource{Group: "example.com", Version: "v1", Plural: "shops", Kind: "Shop", Custom: true, Status: true}),
		Log: func(r apitest.LoggedRequest) {
			switch {
			case r.Method != http.MethodPatch && r.Method != http.MethodPost, strings.Contains(r.URI, "/leases"):
			case strings.Contains(r.URI, "/shops/"):
				statuses <- http.StatusText(r.Status)
			default:
				writes <- http.StatusText(r.Status)
			}
		},
	})
	return &cluster{Server: server, t: t, url: url, writes: writes, statuses: statuses}
}

// program is the program, which has not started.
func (c *cluster) program() *program.Process { return program.New(c.t, program.Kubeconfig(c.t, c.url)) }

// shop makes or changes the Shop.
func (c *cluster) shop(write func(resource string, obj map[string]any) (string, error), prices map[string]any) {
	c.t.Helper()
	_, err := write("shops.example.com", map[string]any{
		"apiVersion": "example.com/v1", "kind": "Shop", "metadata": map[string]any{"namespace": "town", "name": "bakery"}, "prices": prices,
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// written waits for a write that is answered with a status and after which the ConfigMap has data.
// Others may come before: the controller's cache may lack what the test has just written, and the
// server refuses a write from an old state.
func (c *cluster) written(status, data string) {
	c.t.Helper()
	var all []string
	for over := time.After(2 * time.Minute); ; {
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
	for over := time.After(2 * time.Minute); ; {
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
	p := c.program()
	if err := p.Start(); err != nil {
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

	p.Interrupt()
}

// A write that fails is sent again, and a ConfigMap of somebody else is left alone. The log says
// both.
func TestFailures(t *testing.T) {
	c := newCluster(t)
	if err := c.FailNext(apitest.Failure{Verb: "create", Resource: "configmaps", Status: 500, Reason: "InternalError"}); err != nil {
		t.Fatal(err)
	}
	c.shop(c.Create, map[string]any{"bread": "3"})
	p := c.program()
	p.Begin(p.StderrPipe)
	logged := func(want string) { // of the controller; the informers log, too
		t.Helper()
		line := p.Line()
		for !strings.Contains(line, "key=town/bakery") {
			line = p.Line()
		}
		if !strings.Contains(line, want) {
			t.Fatalf("logged %s, want %s", line, want)
		}
	}
	logged("create configmaps town/bakery: post " + c.url + "/api/v1/namespaces/town/configmaps: 500 InternalError")
	if got := <-c.writes; got != "Internal Server Error" {
		t.Errorf("a write was answered with %s", got)
	}
	c.written("Created", `{"bread":"3"}`)
	logged("relist: reconcile recovered")

	_, err := c.Patch("configmaps", "town", "bakery", map[string]any{
		"metadata": map[string]any{"ownerReferences": nil}, "data": map[string]any{"bread": "300"},
	})
	if err != nil {
		t.Fatal(err)
	}
	logged("configmaps town/bakery does not belong to Shop bakery: it is controlled by another owner, or by none")
	p.Kill()
	if got := c.data(); got != `{"bread":"300"}` {
		t.Errorf("somebody else's ConfigMap has become %s", got)
	}
}

func TestBadServer(t *testing.T) {
	program.New(t, program.Kubeconfig(t, "ftp://x")).Fails("not an http")
}
