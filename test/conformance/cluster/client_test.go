package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/relist-go/relist/test/conformance/cluster"
)

// client speaks plain HTTP: these tests are about what the server sends, not about anybody's client.
type client struct {
	tb    testing.TB
	http  *http.Client
	url   string
	token string
}

func newClient(tb testing.TB, c *cluster.Cluster) *client {
	tb.Helper()
	h, err := c.Access().HTTPClient()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(h.CloseIdleConnections)
	return &client{tb: tb, http: h, url: c.Access().URL, token: c.Access().AdminToken}
}

func (c *client) do(ctx context.Context, method, path, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.token)
	return c.http.Do(req)
}

// object has what these tests look at in an object, a list, or a Status.
type object struct {
	Metadata struct {
		Name            string `json:"name"`
		ResourceVersion string `json:"resourceVersion"`
		Continue        string `json:"continue"`
	} `json:"metadata"`
	Items   []object `json:"items"`
	Reason  string   `json:"reason"`
	Message string   `json:"message"`
	Code    int      `json:"code"`
}

// call sends a request and decodes the answer, whatever its status.
func (c *client) call(method, path, body string) (int, object) {
	c.tb.Helper()
	status, obj, err := c.try(c.tb.Context(), method, path, body)
	if err != nil {
		c.tb.Fatal(err)
	}
	return status, obj
}

func (c *client) try(ctx context.Context, method, path, body string) (int, object, error) {
	resp, err := c.do(ctx, method, path, body)
	if err != nil {
		return 0, object{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, object{}, err
	}
	var obj object
	if err := json.Unmarshal(data, &obj); err != nil {
		return 0, object{}, fmt.Errorf("%s %s: %s: %q: %w", method, path, resp.Status, data, err)
	}
	return resp.StatusCode, obj, nil
}

// create makes an object of a type that needs nothing but a name, and returns its resourceVersion.
func (c *client) create(resource, name string) string {
	c.tb.Helper()
	status, obj := c.call(http.MethodPost, "/api/v1/namespaces/default/"+resource, fmt.Sprintf(`{"metadata":{"name":%q}}`, name))
	if status != http.StatusCreated {
		c.tb.Fatalf("create %s %s: %d %s", resource, name, status, obj.Message)
	}
	return obj.Metadata.ResourceVersion
}

type event struct {
	Type   string `json:"type"`
	Object object `json:"object"`
}

// watch opens a watch and returns a function that waits for its next event.
func (c *client) watch(resource, resourceVersion string) (next func() (event, error)) {
	c.tb.Helper()
	resp, err := c.do(c.tb.Context(), http.MethodGet, "/api/v1/namespaces/default/"+resource+"?watch=1&resourceVersion="+resourceVersion, "")
	if err != nil {
		c.tb.Fatal(err)
	}
	c.tb.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		c.tb.Fatalf("watch %s: %s", resource, resp.Status)
	}
	decoder := json.NewDecoder(resp.Body)
	return func() (event, error) {
		var e event
		err := decoder.Decode(&e)
		return e, err
	}
}

// expired waits for the watch's next event and wants it to say that its version is gone.
func (c *client) expired(next func() (event, error)) {
	c.tb.Helper()
	e, err := next()
	if err != nil {
		c.tb.Fatal(err)
	}
	if e.Type != "ERROR" || e.Object.Code != http.StatusGone || e.Object.Reason != "Expired" {
		c.tb.Fatalf("got %+v, want ERROR 410 Expired", e)
	}
}

// added waits for the watch's next event and wants it to be the creation of name.
func (c *client) added(next func() (event, error), name string) {
	c.tb.Helper()
	e, err := next()
	if err != nil {
		c.tb.Fatal(err)
	}
	if e.Type != "ADDED" || e.Object.Metadata.Name != name {
		c.tb.Fatalf("got %+v, want ADDED %s", e, name)
	}
}
