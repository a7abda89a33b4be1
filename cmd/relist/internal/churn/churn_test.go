package churn

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/must"
)

func newServer(t *testing.T) *apitest.Server {
	server := apitest.New(apitest.Options{})
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// keys are the objects of a server with their contents' versions.
func keys(t *testing.T, server *apitest.Server) []string {
	t.Helper()
	items, _, err := server.List(Resource, "")
	must.OK(t, err)
	var all []string
	for _, item := range items {
		meta := item["metadata"].(map[string]any)
		all = append(all, fmt.Sprint(meta["namespace"], "/", meta["name"], " ", meta["resourceVersion"]))
	}
	return all
}

func TestSameSeedSameChanges(t *testing.T) {
	run := func(seed uint64) []string {
		server := newServer(t)
		c := New(server, seed)
		must.OK(t, c.Fill(50))
		for range 500 {
			must.OK(t, c.Change())
		}
		return keys(t, server)
	}
	first := run(7)
	if diff := cmp.Diff(first, run(7)); diff != "" {
		t.Errorf("the second run differs:\n%s", diff)
	}
	if cmp.Equal(first, run(8)) {
		t.Error("another seed made the same changes")
	}
	if n := len(first); n < 45 || n > 50 {
		t.Errorf("%d objects, want about 50", n)
	}
}

func TestRunKeepsTheRate(t *testing.T) {
	for _, tt := range []struct{ rate, seconds float64 }{{0.5, 10}, {3, 10}, {200, 2}, {900, 1}} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t)
			c := New(server, 1)
			must.OK(t, c.Fill(10))
			duration := time.Duration(tt.seconds * float64(time.Second))
			ctx, cancel := context.WithTimeout(t.Context(), duration+time.Millisecond)
			defer cancel()
			must.OK(t, c.Run(ctx, tt.rate))
			got, err := strconv.Atoi(server.ResourceVersion())
			must.OK(t, err)
			// The server starts at version 1, and each change is one version. The last may
			// come a nanosecond too early or too late.
			if want := 1 + 10 + int(tt.rate*tt.seconds); got < want-1 || got > want+1 {
				t.Errorf("rate %v: at version %d after %s, want %d", tt.rate, got, duration, want)
			}
		})
	}
}

func TestRunWithoutRate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := New(newServer(t), 1).Run(ctx, 0); err != nil {
		t.Error(err)
	}
}

// Someone else may delete what the churner means to change.
func TestOthersMayDelete(t *testing.T) {
	server := newServer(t)
	c := New(server, 1)
	must.OK(t, c.Fill(10))
	for _, o := range c.objects {
		if _, err := server.Delete(Resource, o.namespace, o.name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Touch(10); err != nil {
		t.Error(err)
	}
	if _, err := c.Remove(5); err != nil {
		t.Error(err)
	}
}

func TestRemove(t *testing.T) {
	server := newServer(t)
	c := New(server, 1)
	must.OK(t, c.Fill(10))
	rv, err := c.Remove(4)
	if err != nil || rv != server.ResourceVersion() {
		t.Errorf("Remove = %s, %v; the server is at %s", rv, err, server.ResourceVersion())
	}
	if n := len(keys(t, server)); n != 6 {
		t.Errorf("%d objects are left, want 6", n)
	}
	if _, err := c.Remove(100); err != nil {
		t.Error(err)
	}
}

func TestFillPods(t *testing.T) {
	server := newServer(t)
	must.OK(t, FillPods(server, 30))
	pods, _, err := server.List("pods", "")
	must.OK(t, err)
	nodes := map[any]int{}
	for _, pod := range pods {
		nodes[pod["spec"].(map[string]any)["nodeName"]]++
		status := pod["status"].(map[string]any)
		if diff := cmp.Diff(any([]any{map[string]any{"ip": status["podIP"]}}), status["podIPs"]); diff != "" {
			t.Errorf("podIPs (-want +got):\n%s", diff)
		}
	}
	if len(pods) != 30 || len(nodes) != 10 || nodes["node-3"] != 3 {
		t.Errorf("%d Pods on nodes %v, want three on each of ten", len(pods), nodes)
	}
	if err := FillPods(server, 1); err == nil {
		t.Error("a Pod that is there already was created")
	}
}
