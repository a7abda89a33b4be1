package discovery

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/transport"
)

// captured returns the body of an answer of a kube-apiserver 1.36.
func captured(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	must.OK(t, err)
	_, answer, _ := strings.Cut(string(data), "HTTP/1.1 200 OK")
	_, body, ok := strings.Cut(answer, "\r\n\r\n")
	if !ok {
		t.Fatalf("%s: no body", file)
	}
	return strings.TrimSpace(body)
}

// newClient returns a client of handler.
func newClient(t *testing.T, handler http.Handler) *transport.Client {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	client, err := transport.NewClient(transport.Config{Server: srv.URL})
	must.OK(t, err)
	t.Cleanup(client.Close)
	return client
}

// aggregated answers /apis with everything in one document, and has no core group.
func aggregated(t *testing.T) http.Handler {
	body := captured(t, "discovery-apis-aggregated.http")
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		// A proxy in between may have dropped the parameters of the media type.
		w.Header().Set("Content-Type", "application/json")
		if req.URL.Path == "/api" {
			body := `{"kind":"APIGroupDiscoveryList","items":[]}`
			_, _ = w.Write([]byte(body))
			return
		}
		_, _ = w.Write([]byte(body))
	})
}

func TestResolve(t *testing.T) {
	server := apitest.New(apitest.Options{})
	t.Cleanup(func() { _ = server.Close() })
	clients := map[string]*transport.Client{
		"apitest":    newClient(t, server),
		"aggregated": newClient(t, aggregated(t)),
	}
	const deployments = "apps/v1, Resource=deployments"
	for _, tt := range []struct {
		server, name, want string
		clusterScoped      bool
	}{
		{server: "apitest", name: "configmaps", want: "/v1, Resource=configmaps"},
		{server: "apitest", name: "configmap", want: "/v1, Resource=configmaps"},
		{server: "apitest", name: "ConfigMap", want: "/v1, Resource=configmaps"},
		{server: "apitest", name: "cm", want: "/v1, Resource=configmaps"},
		{server: "apitest", name: "pods.v1.", want: "/v1, Resource=pods"},
		{server: "apitest", name: "no", want: "/v1, Resource=nodes", clusterScoped: true},
		{server: "apitest", name: "deploy", want: deployments},
		{server: "apitest", name: "deployments.apps", want: deployments},
		{server: "apitest", name: "deploy.v1.apps", want: deployments},
		{server: "apitest", name: "wd.example.com", want: "example.com/v1, Resource=widgets"},
		{server: "aggregated", name: "deployments", want: deployments},
		{server: "aggregated", name: "endpointslice.discovery.k8s.io", want: "discovery.k8s.io/v1, Resource=endpointslices"},
		{server: "aggregated", name: "storageclasses", want: "storage.k8s.io/v1, Resource=storageclasses", clusterScoped: true},
	} {
		t.Run(tt.server+"/"+tt.name, func(t *testing.T) {
			r, err := Resolve(t.Context(), clients[tt.server], tt.name)
			must.OK(t, err)
			if got := r.String(); got != tt.want {
				t.Errorf("Resolve = %s, want %s", got, tt.want)
			}
			if r.Namespaced == tt.clusterScoped {
				t.Errorf("Namespaced = %v", r.Namespaced)
			}
			typ := r.Type()
			if typ.GroupVersionResource() != r.GroupVersionResource || typ.Kind != r.Kind || typ.ClusterScoped != tt.clusterScoped {
				t.Errorf("Type = %+v", typ)
			}
		})
	}
}

func TestResolveErrors(t *testing.T) {
	server := apitest.New(apitest.Options{})
	t.Cleanup(func() { _ = server.Close() })
	few := apitest.New(apitest.Options{Resources: []apitest.Resource{{Group: "example.com", Plural: "widgets", Kind: "Widget"}, {Plural: "pods", Kind: "Pod"}}})
	t.Cleanup(func() { _ = few.Close() })
	one := newClient(t, few)
	api := newClient(t, server)
	for _, tt := range []struct {
		client     *transport.Client
		name, want string
	}{
		{api, "podz", `the server has no resource "podz"; did you mean pods?`},
		{api, "deploymnet", `the server has no resource "deploymnet"; did you mean deployments.apps?`},
		{api, "deployments.v7.apps", `the server has no resource "deployments.v7.apps"; did you mean deployments.v1.apps?`},
		{api, "deployments.foo", `the server has no resource "deployments.foo"; did you mean deployments.apps?`},
		{api, "deployments.example.com", `the server has no resource "deployments.example.com"; did you mean deployments.apps?`},
		{one, "xylophones", `the server has no resource "xylophones"`},
		{api, "pods/web-0", `"pods/web-0" is not the name of a resource: name a resource only, and choose one object by the field selector metadata.name=NAME`},
		{api, "pods,nodes", `"pods,nodes" is not the name of a resource: name one resource at a time`},
		{api, "pods.", `"pods." is not the name of a resource: write pods, deployments.apps or deployments.v1.apps`},
		{api, "", `"" is not the name of a resource: write pods, deployments.apps or deployments.v1.apps`},
	} {
		_, err := Resolve(t.Context(), tt.client, tt.name)
		if err == nil {
			t.Errorf("Resolve(%q) found something", tt.name)
			continue
		}
		if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
			t.Errorf("Resolve(%q) (-want +got):\n%s", tt.name, diff)
		}
	}
}

// stale is the second answer of a server whose groups are down, one of them with what it had
// before.
const stale = `{"kind":"APIGroupDiscoveryList","items":[
	{"metadata":{"name":"apps"},"versions":[{"version":"v1","freshness":"Stale","resources":[{"resource":"deployments","verbs":["list"]}]}]},
	{"metadata":{"name":"discovery.k8s.io"},"versions":[{"version":"v1","freshness":"Stale"}]}]}`

const none = `{"kind":"APIGroupDiscoveryList","items":[]}`

// A group whose server is down must not look as if it did not exist.
func TestResolveNamesMissingGroups(t *testing.T) {
	_, err := Resolve(t.Context(), newClient(t, answering(none, stale)), "endpointslices")
	var missing *NotFoundError
	if !errors.As(err, &missing) {
		t.Fatalf("err = %v, want a NotFoundError", err)
	}
	if !strings.Contains(err.Error(), "did not answer: discovery.k8s.io/v1") {
		t.Errorf("err = %v, want the groups that did not answer", err)
	}
}

func TestResolveWrongServer(t *testing.T) {
	html := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>log in</html>")) })
	_, err := Resolve(t.Context(), newClient(t, html), "pods")
	if err == nil || !strings.Contains(err.Error(), "<html>log in") {
		t.Errorf("err = %v, want the page quoted", err)
	}
	notList := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`["hello"]`))
	})
	_, err = Resolve(t.Context(), newClient(t, notList), "pods")
	if err == nil || !strings.Contains(err.Error(), "is not what an API server sends") {
		t.Errorf("err = %v, want advice", err)
	}
}

// answering answers /api with one body, and everything else with another.
func answering(api, apis string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body := apis
		if req.URL.Path == "/api" {
			body = api
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	})
}

// Names of a server do nothing to a terminal, and fill none.
func TestErrorsWithStrangeNames(t *testing.T) {
	group := func(name, version string) string {
		return `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"` + name + `"},"versions":[` + version + `]}]}`
	}
	long := strings.Repeat("x", 1<<20)
	for apis, want := range map[string]string{
		`{}`:                                    "is not what an API server sends",
		`null`:                                  "is not what an API server sends",
		`{"kind":"Status","code":403}`:          "is not what an API server sends",
		`{"kind":"APIGroupList","groups":null}`: "before Kubernetes 1.27",
		group("g", `{"version":"v1","resources":[{"resource":"","responseKind":{"kind":"Pod"},"verbs":["list","watch"]}]}`): `the server has no resource "pod"`,
		group("g", `{"version":"v1","resources":[{"resource":"pods\u001b[2J\nnext","verbs":["list","watch"]}]}`):            `did you mean pods\x1b[2J next.g`,
		group("g", `{"version":"v1","resources":[{"resource":"pod`+long+`","verbs":["list","watch"]}]}`):                    "did you mean podxxx",
		group(long, `{"version":"v1","freshness":"Stale"}`):                                                                 "did not answer: xxx",
		group("g", `{"version":"v1","freshness":"Stale"}`+strings.Repeat(`,{"version":"v2","freshness":"Stale"}`, 10_000)):  "g/v2 and 9971 more",
	} {
		_, err := Resolve(t.Context(), newClient(t, answering(none, apis)), "pod")
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 1000 {
			t.Errorf("%.100s: error %.1000v, want %s in it", apis, err, want)
		}
	}
}

// What cannot be watched is found, too, and its verbs say so.
func TestVerbs(t *testing.T) {
	r, err := Resolve(t.Context(), newClient(t, answering(none, stale)), "deployments")
	if err != nil || !r.Can("list") || r.Can("watch") {
		t.Errorf("Resolve = %+v, %v", r, err)
	}
}

func TestList(t *testing.T) {
	server := apitest.New(apitest.Options{})
	t.Cleanup(func() { _ = server.Close() })
	client := newClient(t, server)
	all, err := List(t.Context(), client)
	if err != nil || len(all) == 0 || all[0].Group != "" {
		t.Fatalf("List = %+v, %v", all, err)
	}
	seen := map[string]bool{}
	for _, r := range all {
		if seen[r.String()] || strings.Contains(r.Resource, "/") {
			t.Errorf("%s is listed twice, or is a subresource", r.String())
		}
		seen[r.String()] = true
		found, err := Resolve(t.Context(), client, r.Resource+"."+r.Version+"."+r.Group)
		if err != nil || found.String() != r.String() {
			t.Errorf("Resolve of %s = %v, %v", r.String(), found, err)
		}
	}

	aggregated, err := List(t.Context(), newClient(t, aggregated(t)))
	if err != nil || len(aggregated) == 0 {
		t.Errorf("List = %d resources, %v", len(aggregated), err)
	}

	some, err := List(t.Context(), newClient(t, answering(none, stale)))
	var missing *MissingError
	if !errors.As(err, &missing) || len(missing.Groups) == 0 || !strings.Contains(err.Error(), "discovery.k8s.io/v1") {
		t.Errorf("error %v, want the groups that did not answer", err)
	}
	if i := len(some) - 1; i < 0 || some[i].Resource != "deployments" {
		t.Errorf("List = %+v, want what is there", some)
	}
	down := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "down", http.StatusServiceUnavailable) })
	if some, err = List(t.Context(), newClient(t, down)); err == nil || some != nil {
		t.Errorf("List = %+v, %v", some, err)
	}
}

// FuzzResolve has a server that answers anything.
func FuzzResolve(f *testing.F) {
	for _, s := range []string{`{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"},"versions":[{"version":"v1","resources":[{"resource":"pods"}]}]}]}`, stale, `{"kind":"APIVersions"}`, `[]`, `null`, ``} {
		f.Add([]byte(s), "pods")
	}
	f.Fuzz(func(t *testing.T, answer []byte, name string) {
		client, err := transport.NewClient(transport.Config{Server: "http://127.0.0.1", RoundTripper: answers(answer)})
		must.OK(t, err)
		if r, err := Resolve(t.Context(), client, name); (r == nil) == (err == nil) {
			t.Errorf("Resolve = %v, %v", r, err)
		}
		var missing *MissingError
		if all, err := List(t.Context(), client); err != nil && all != nil && !errors.As(err, &missing) {
			t.Errorf("List = %v, %v", all, err)
		}
	})
}

// answers answers each request alike.
type answers []byte

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(a))}, nil
}

func FuzzParseQuery(f *testing.F) {
	for _, s := range []string{"pods", "deployments.apps", "deployments.v1.apps", "pods.v1.", "a/b", "..", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		q, err := parseQuery(name)
		if err == nil && (q.resource == "" || strings.ContainsAny(q.resource, "./,")) {
			t.Errorf("parseQuery(%q) = %+v", name, q)
		}
	})
}

// An answer that never ends is read up to the bound.
func TestAnswerThatNeverEndsIsGivenUp(t *testing.T) {
	taken := make(chan int, 1)
	more := strings.Repeat("x", 64<<10)
	endless := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		n, err := io.WriteString(w, `{"kind":"APIGroupDiscoveryList","x":"`)
		for err == nil {
			var m int
			m, err = io.WriteString(w, more)
			n += m
		}
		select {
		case taken <- n:
		default:
		}
	})
	_, err := Resolve(t.Context(), newClient(t, endless), "pods")
	if err == nil || len(err.Error()) > 1000 {
		t.Errorf("error %.200v", err)
	}
	if n := <-taken; n > 2*maxDiscovery {
		t.Errorf("%d MiB were taken", n>>20)
	}
}
