package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/transport"
)

func TestOperator(t *testing.T) {
	inCluster(t, func(c *cluster) {
		_, stop := c.replica("first")
		<-time.After(time.Second)
		second, _ := c.replica("second")
		c.shop("bakery", 8080)
		c.after(time.Second, "bakery", "Open 1 8080 bakery.town.svc")

		// Somebody else deletes one child and changes the other.
		c.must(c.Delete("services", "town", "bakery"))
		c.must(c.Patch("configmaps", namespace, "town.bakery", map[string]any{"data": map[string]any{"host": "elsewhere"}}))
		c.after(time.Second, "bakery", "Open 1 8080 bakery.town.svc")

		// The server fails each request of the leader, which loses the lease.
		c.must("", c.FailNext(apitest.Failure{UserAgent: "first", Status: http.StatusInternalServerError, For: time.Hour}))
		c.shop("bakery", 9090)
		c.after(20*time.Second, "bakery", "Open 2 9090 bakery.town.svc")
		stop()

		c.must(c.Delete("shops.example.com", "town", "bakery"))
		c.after(time.Second, "bakery", "none none 9090 none") // no garbage collector runs
		c.has("sells on port 8080, sells on port 9090", c.events()...)
		c.ready(second)
	})
}

// A Shop that the server refuses is not tried again until somebody changes it, or if its status
// cannot be written.
func TestInvalid(t *testing.T) {
	inCluster(t, func(c *cluster) {
		c.replica("only")
		c.shop("corner.shop", 8080)
		c.after(10*time.Minute, "corner.shop", "Invalid 1 none none")
		c.wasRefused("422")

		c.must("", c.FailNext(apitest.Failure{Verb: "patch", Resource: "shops.example.com", Status: http.StatusInternalServerError}))
		c.shop("corner.shop", 9090)
		c.after(10*time.Minute, "corner.shop", "Invalid 2 none none")
		c.wasRefused("422, 422, 422")
	})
}

// cluster is an API server that knows Shops, in virtual time.
type cluster struct {
	*apitest.Server
	t        *testing.T
	listener *apitest.Listener

	mu      sync.Mutex // guards what follows, because several requests may be logged at once
	refused []string   // the answers to creations that failed
}

func inCluster(t *testing.T, test func(c *cluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{t: t}
		shop := apitest.Resource{Group: "example.com", Version: "v1", Plural: "shops", Kind: "Shop", Custom: true, Status: true}
		c.Server, c.listener = apitest.StartInMemory(t, apitest.Options{
			Resources: append(apitest.DefaultResources(), shop),
			Log: func(r apitest.LoggedRequest) {
				if r.Method == http.MethodPost && r.Status >= http.StatusBadRequest {
					c.mu.Lock()
					defer c.mu.Unlock()
					c.refused = append(c.refused, fmt.Sprint(r.Status))
				}
			},
		})
		test(c)
	})
}

// replica runs the operator until stop is called, or until the test ends.
func (c *cluster) replica(name string) (op *operator, stop func()) {
	c.t.Helper()
	client, err := transport.NewClient(transport.Config{Server: c.listener.URL, Dial: c.listener.Dial, UserAgent: name})
	c.must("", err)
	op, err = newOperator(client)
	c.must("", err)
	ctx, cancel := context.WithCancel(c.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = op.run(ctx) // the error of ctx
	}()
	stop = func() {
		cancel()
		<-ended
		client.Close()
	}
	c.t.Cleanup(stop)
	return op, stop
}

func (c *cluster) must(_ string, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// shop makes or changes a Shop.
func (c *cluster) shop(name string, port int) {
	c.t.Helper()
	spec := map[string]any{"port": port}
	_, err := c.Patch("shops.example.com", "town", name, map[string]any{"spec": spec})
	if apierrors.IsNotFound(err) {
		_, err = c.Create("shops.example.com", map[string]any{
			"apiVersion": "example.com/v1", "kind": "Shop", "metadata": map[string]any{"namespace": "town", "name": name}, "spec": spec,
		})
	}
	c.must("", err)
}

// after waits, and compares the condition of a Shop and its generation, the port of its Service,
// and its entry. Virtual time goes on when every goroutine waits, so the operator has done all that
// was due. A test that reads a variable of the program's goroutines also calls synctest.Wait.
func (c *cluster) after(d time.Duration, name, want string) {
	c.t.Helper()
	<-time.After(d)
	var got []string
	for _, of := range []struct{ resource, namespace, name, path string }{
		{"shops.example.com", "town", name, "status.conditions.reason"},
		{"shops.example.com", "town", name, "status.conditions.observedGeneration"},
		{"services", "town", name, "spec.ports.targetPort"},
		{"configmaps", namespace, "town." + name, "data.host"},
	} {
		obj, err := c.Get(of.resource, of.namespace, of.name)
		if apierrors.IsNotFound(err) {
			got = append(got, "none")
			continue
		}
		c.must("", err)
		got = append(got, at(obj, of.path))
	}
	c.has(want, strings.Join(got, " "))
}

// at returns a member of an object, or of the first item of a list.
func at(value any, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		if list, ok := value.([]any); ok {
			value = list[0]
		}
		value = value.(map[string]any)[name]
	}
	return fmt.Sprint(value)
}

func (c *cluster) events() (notes []string) {
	c.t.Helper()
	all, _, err := c.List("events.events.k8s.io", "town")
	c.must("", err)
	for _, event := range all {
		notes = append(notes, at(event, "note"))
	}
	return notes
}

func (c *cluster) has(want string, got ...string) {
	c.t.Helper()
	if have := strings.Join(got, ", "); have != want {
		c.t.Errorf("there is %q, want %q", have, want)
	}
}

func (c *cluster) wasRefused(want string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.has(want, c.refused...)
}

func (c *cluster) ready(op *operator) {
	c.t.Helper()
	answer := httptest.NewRecorder()
	op.caches.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(c.t.Context(), http.MethodGet, "/readyz", http.NoBody))
	c.has("ok\n", answer.Body.String())
}
