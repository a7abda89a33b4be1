package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/transport"
)

// start runs a Discovery against a server in memory until the test ends.
func start(t *testing.T, server *apitest.Server) *Discovery {
	t.Helper()
	network, srv, served := memnet.New(), &http.Server{Handler: server}, make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(network) // ends with ErrServerClosed
	}()
	client, err := transport.NewClient(transport.Config{Server: "http://api.example", Dial: network.Dial})
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDiscovery(client)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
		client.Close()
		_ = srv.Close()
		<-served
	})
	synctest.Wait()
	return d
}

// ask asks as Prometheus does.
func ask(t *testing.T, d *Discovery) (code int, groups []Group) {
	t.Helper()
	synctest.Wait()
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/targets", http.NoBody))
	if w.Code != http.StatusOK {
		return w.Code, nil
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("the answer is %s", got)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &groups); err != nil || groups == nil {
		t.Fatalf("%s: %v", w.Body, err)
	}
	return w.Code, groups
}

type fields = map[string]any

func pod(name string, annotations fields, ip, phase string, ports ...any) fields {
	return fields{
		"metadata": fields{"namespace": "shop", "name": name, "annotations": annotations},
		"spec":     fields{"containers": []any{fields{"name": "a", "ports": ports}}},
		"status":   fields{"podIP": ip, "phase": phase},
	}
}

func TestDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apitest.New(apitest.Options{})
		defer server.Close()
		create := func(obj fields) {
			t.Helper()
			if _, err := server.Create("pods", obj); err != nil {
				t.Fatal(err)
			}
		}
		if err := server.FailNext(apitest.Failure{Verb: "list", Resource: "pods", Status: 503}); err != nil {
			t.Fatal(err)
		}
		d := start(t, server)
		if code, _ := ask(t, d); code != http.StatusServiceUnavailable {
			t.Errorf("before the first list: %d", code)
		}
		<-time.After(time.Minute)
		if code, groups := ask(t, d); code != http.StatusOK || len(groups) > 0 {
			t.Errorf("of an empty cluster: %d %v", code, groups)
		}

		scrape := fields{"prometheus.io/scrape": "true"}
		create(pod("plain", nil, "10.0.0.1", "Running", fields{"containerPort": 80}))
		create(pod("web", fields{"prometheus.io/scrape": "true", "prometheus.io/port": "http"}, "10.0.0.2", "Running", fields{"containerPort": 80}, fields{"containerPort": 81}))
		create(pod("young", scrape, "", "Pending", fields{"containerPort": 80}))
		create(pod("done", scrape, "10.0.0.3", "Succeeded", fields{"containerPort": 80}))
		create(pod("portless", scrape, "10.0.0.4", "Running"))
		create(pod("six", fields{
			"prometheus.io/scrape": "true", "prometheus.io/port": "9000", "prometheus.io/path": "/stats", "prometheus.io/scheme": "https",
		}, "fd00::1", "Running", fields{"containerPort": 80}))
		want := []Group{
			{[]string{"[fd00::1]:9000"}, map[string]string{"namespace": "shop", "pod": "six", "__scheme__": "https", "__metrics_path__": "/stats"}},
			{[]string{"10.0.0.2:80", "10.0.0.2:81"}, map[string]string{"namespace": "shop", "pod": "web", "__scheme__": "http", "__metrics_path__": "/metrics"}},
		}
		_, groups := ask(t, d)
		if diff := cmp.Diff(want, groups); diff != "" {
			t.Errorf("the targets differ (-want +got):\n%s", diff)
		}

		if _, err := server.Delete("pods", "shop", "six"); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Patch("pods", "shop", "web", fields{"metadata": fields{"annotations": nil}}); err != nil {
			t.Fatal(err)
		}
		_, groups = ask(t, d)
		if len(groups) > 0 {
			t.Errorf("after a deletion and a change the targets are %v", groups)
		}
	})
}
