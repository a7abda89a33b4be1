package status

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/relist/internal/mirror"
	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// fixture is a mirror of ConfigMaps, and what one can ask about it. It lives in a
// synctest bubble: everything that can happen at a moment has happened.
type fixture struct {
	*testing.T
	server *apitest.Server
	view   *View
}

var errSpoiled = errors.New("spoiled")

// start runs a mirror that cannot use objects with a name that begins with "bad".
func start(t *testing.T, maxStaleness time.Duration, setup func(*apitest.Server)) *fixture {
	server := apitest.New(apitest.Options{})
	t.Cleanup(func() { _ = server.Close() })
	setup(server)
	network := memnet.New()
	t.Cleanup(network.Serve(&http.Server{Handler: server}))
	client, err := transport.NewClient(transport.Config{Server: "http://api.example", Dial: network.Dial})
	must.OK(t, err)
	t.Cleanup(client.Close)
	source, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*listwatch.Raw]{
		Transform: func(o *listwatch.Raw) (*listwatch.Raw, error) {
			if strings.HasPrefix(o.GetName(), "bad") {
				return nil, errSpoiled
			}
			return o, nil
		},
	})
	must.OK(t, err)
	m := mirror.New(mirror.Options{
		Source:    source,
		Reflector: reflector.Options{Rand: func() float64 { return 0.5 }}, // watches end after 7m30s
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	synctest.Wait()
	return &fixture{t, server, &View{Mirror: m, Resource: source.String(), Server: "http://api.example", MaxStaleness: maxStaleness}}
}

// pass lets time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (f *fixture) get(path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	f.view.Handler().ServeHTTP(w, httptest.NewRequestWithContext(f.Context(), http.MethodGet, path, http.NoBody))
	return w
}

// wants compares a probe's answer: its code, and how its body begins.
func (f *fixture) wants(path string, code int, body string) {
	f.Helper()
	if w := f.get(path); w.Code != code || !strings.HasPrefix(w.Body.String(), body) {
		f.Errorf("%s: %d %q, want %d %q", path, w.Code, w.Body, code, body)
	}
}

func (f *fixture) status() map[string]any {
	f.Helper()
	w := f.get("/status")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
		f.Fatalf("/status: %d %s", w.Code, w.Header())
	}
	var fields map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &fields); err != nil {
		f.Fatal(err)
	}
	return fields
}

func (f *fixture) create(names ...string) { create(f.T, f.server, names...) }

func create(t *testing.T, server *apitest.Server, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "a", "name": name}}); err != nil {
			t.Fatal(err)
		}
	}
}

// Until the first list has been applied, nothing is healthy or ready.
func TestNotSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, 0, func(s *apitest.Server) {
			if err := s.FailNext(apitest.Failure{Verb: "list", Status: 500, Message: "not yet"}); err != nil {
				t.Error(err)
			}
		})
		f.wants("/healthz", 503, "the first list has not been applied: ")
		f.wants("/readyz", 503, "the first list has not been applied: ")
		if s := f.status(); s["synced"] != false || s["healthy"] != false || s["state"] != "waiting" || s["objects"] != 0.0 {
			t.Errorf("status = %v", s)
		}
		pass(time.Minute)
		f.wants("/healthz", 200, "ok\n")
		f.wants("/readyz", 200, "ok\n")
		f.server.Stall()
		pass(time.Hour)
		f.wants("/healthz", 200, "ok\n") // without a limit
	})
}

func TestStatusFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, 5*time.Minute, func(s *apitest.Server) { create(t, s, "one", "two") })
		f.create("three")
		pass(time.Minute)
		f.create("four")
		synctest.Wait()
		s := f.status()
		for field, want := range map[string]any{
			"resource": "configmaps", "server": "http://api.example", "healthy": true, "state": "watching", "synced": true,
			"objects": 4.0, "pending": 0.0, "resourceVersion": f.server.ResourceVersion(), "stalenessSeconds": 0.0, "maxStalenessSeconds": 300.0,
		} {
			if s[field] != want {
				t.Errorf("%s = %v, want %v", field, s[field], want)
			}
		}
		for _, field := range []string{"time", "since", "lastByte", "lastEvent", "lastBookmark"} {
			text, _ := s[field].(string)
			if at, err := time.Parse(time.RFC3339, text); err != nil || at.Location() != time.UTC {
				t.Errorf("%s = %v, want a time in UTC; %v", field, s[field], err)
			}
		}
		for _, field := range []string{"reason", "failingSince", "lastError", "lastErrorTime", "nextRetry"} {
			if _, ok := s[field]; ok {
				t.Errorf("%s = %v, want nothing", field, s[field])
			}
		}
		if q, ok := s["quarantined"].([]any); !ok || len(q) != 0 {
			t.Errorf("quarantined = %v, want an empty list", s["quarantined"])
		}
	})
}

// An object that cannot be used is named, and makes nothing unhealthy.
func TestQuarantined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, 0, func(s *apitest.Server) { create(t, s, "one") })
		f.create("bad")
		version := f.server.ResourceVersion()
		synctest.Wait()
		f.wants("/healthz", 200, "ok\n")
		all, _ := f.status()["quarantined"].([]any)
		if len(all) != 1 {
			t.Fatalf("quarantined = %v, want one", all)
		}
		q := all[0].(map[string]any)
		if q["key"] != "a/bad" || q["resourceVersion"] != version || q["uid"] == nil || q["since"] == nil || !strings.Contains(q["error"].(string), "spoiled") {
			t.Errorf("quarantined = %v", q)
		}
		if text := f.view.Now().Text(); !strings.Contains(text, "quarantined      a/bad at "+version+", 0s ago, next try in ") {
			t.Errorf("the text does not name it:\n%s", text)
		}
		if _, err := f.server.Delete("configmaps", "a", "bad"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if all, _ := f.status()["quarantined"].([]any); len(all) != 0 {
			t.Errorf("quarantined = %v, want none", all)
		}
	})
}

func TestOtherPaths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, 0, func(*apitest.Server) {})
		f.wants("/", 404, "")
		w := httptest.NewRecorder()
		f.view.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/status", http.NoBody))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST: %d", w.Code)
		}
	})
}
