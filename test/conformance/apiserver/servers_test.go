package apiserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/conformance/cluster"
)

// A side is one of the two servers, as a section of requests sees it: with what it has saved of
// earlier answers.
type side struct {
	name   string
	url    string
	token  string
	client *http.Client
	saved  map[string]string
	norm   *normalizer
}

// section returns the same server with nothing saved.
func (s *side) section(namespace string) *side {
	c := *s
	c.saved = map[string]string{"ns": namespace}
	c.norm = newNormalizer()
	return &c
}

func apitestSide(t *testing.T) *side {
	t.Helper()
	_, addr := apitest.Start(t, apitest.Options{Token: "token"})
	transport := &http.Transport{MaxIdleConnsPerHost: 50}
	t.Cleanup(transport.CloseIdleConnections)
	return &side{name: "apitest", url: addr, token: "token", client: &http.Client{Transport: transport}}
}

func realSide(t *testing.T) *side {
	t.Helper()
	return sideOf(t, cluster.New(t, cluster.Options{}))
}

func sideOf(t *testing.T, c *cluster.Cluster) *side {
	t.Helper()
	client, err := c.Access().HTTPClient()
	must.OK(t, err)
	t.Cleanup(client.CloseIdleConnections)
	s := &side{name: "kube-apiserver", url: c.Access().URL, token: c.Access().AdminToken, client: client}
	s.install(t)
	return s
}

// widgets is the type of apitest that a kube-apiserver has to be told of.
const widgets = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
	"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","shortNames":["wd"]},
	"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
	"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

// install makes the custom type, and waits until it is served.
func (s *side) install(t *testing.T) {
	t.Helper()
	a := s.section("").send(t, post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widgets))
	if a.status != http.StatusCreated {
		t.Fatalf("make the custom type: %d %s", a.status, a.body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for a.status != http.StatusOK {
		if ctx.Err() != nil {
			t.Fatalf("the custom type is not served: %d %s", a.status, a.body)
		}
		a = s.section("").send(t, get("/apis/example.com/v1/widgets"))
	}
}

// An answer is what came back for one request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request, and gives up after a minute.
func (s *side) send(t *testing.T, r request) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	path := s.expand(r.path)
	req, err := http.NewRequestWithContext(ctx, r.method, s.url+path, strings.NewReader(s.expand(r.body)))
	if err != nil {
		t.Errorf("%s %s: %v", r.method, path, err)
		return answer{}
	}
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("User-Agent", "relist-conformance")
	for _, h := range r.header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		t.Errorf("%s: %s %s: %v", s.name, r.method, path, err)
		return answer{}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s: %s %s: %v", s.name, r.method, path, err)
	}
	return answer{resp.StatusCode, resp.Header, body}
}

var variable = regexp.MustCompile(`\{([a-z0-9]+(\.[a-z]+)?)\}`)

// expand puts in what was saved.
func (s *side) expand(text string) string {
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		value, ok := s.saved[name[1:len(name)-1]]
		if !ok {
			return name
		}
		return url.QueryEscape(value)
	})
}

// save remembers what later requests may name.
func (s *side) save(name string, body map[string]any) {
	meta, _ := body["metadata"].(map[string]any)
	for short, long := range map[string]string{"rv": "resourceVersion", "uid": "uid", "continue": "continue", "name": "name"} {
		if v, ok := meta[long]; ok {
			s.saved[name+"."+short] = fmt.Sprint(v)
		}
	}
}
