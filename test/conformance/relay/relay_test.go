// Package relay_test puts a relay in front of a real API server.
package relay_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/server/relay"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/discovery"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// rig is a relay in front of a real API server.
type rig struct {
	*testing.T
	cluster *cluster.Cluster
	client  *transport.Client // of the API server
	relay   *relay.Relay
	url     string
	stop    func()
	killed  atomic.Bool // the API server was, so reviews may have failed
}

func newRig(t *testing.T) *rig {
	c := cluster.New(t, cluster.Options{})
	client, err := transport.NewClient(config(c.Access().URL, c.Access().CAFile, c.Access().AdminToken))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	r := &rig{T: t, cluster: c, client: client}
	for i := range 5 {
		r.write(http.MethodPost, "/api/v1/namespaces/default/configmaps", fmt.Sprintf(`{"metadata":{"name":"c%d","labels":{"n":"%d"}},"data":{"a":"<&>"}}`, i, i%2))
	}
	r.start(t.TempDir())
	return r
}

func config(server, caFile, token string) transport.Config {
	return transport.Config{Server: server, TLS: transport.TLSConfig{CAFile: caFile}, BearerToken: token}
}

// write sends a write to the API server.
func (r *rig) write(method, path, body string) {
	r.Helper()
	req := transport.Request{Path: path, Header: http.Header{"Content-Type": {"application/json"}}}
	resp, err := r.client.Do(r.Context(), method, req, []byte(body))
	if err != nil {
		r.Fatal(err)
	}
	_ = resp.Body.Close()
}

// start starts the relay with the windows of a folder.
func (r *rig) start(dir string) {
	r.Helper()
	opts := relay.Options{
		Dir:          dir,
		Authenticate: relay.TokenReviews(r.client, time.Minute),
		Authorize:    relay.AccessReviews(r.client, time.Minute, time.Second),
		OnProblem: func(err error) {
			if r.killed.Load() {
				r.Log("problem:", err)
			} else {
				r.Error("problem:", err)
			}
		},
	}
	for _, name := range []string{"configmaps", "namespaces", "pods"} {
		resource, err := discovery.Resolve(r.Context(), r.client, name)
		if err != nil {
			r.Fatal(err)
		}
		opts.Resources = append(opts.Resources, *resource)
	}
	var err error
	if r.relay, err = relay.New(r.client, opts); err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = r.relay.Run(ctx) })
	front := httptest.NewServer(r.relay)
	r.url = front.URL
	r.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		front.CloseClientConnections()
		front.Close()
	})
	r.Cleanup(func() { r.stop() })
	for ready := false; !ready; {
		ready = r.get(r.url, "", "/readyz").code == http.StatusOK
	}
}

type answer struct {
	code int
	kind string
	body string
}

func (r *rig) get(server, accept, path string) answer {
	r.Helper()
	client, err := r.cluster.Access().HTTPClient()
	if err != nil {
		r.Fatal(err)
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(r.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+path, nil)
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.cluster.Access().AdminToken)
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	resp, err := client.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header.Get("Content-Type"), string(body)}
}

// moving is the version of a list, what a server says of its own version, and the age of an object
// in a table.
var moving = regexp.MustCompile(`^(\{"kind":"\w+List","apiVersion":"[^"]+","metadata":\{"resourceVersion":)"\d+"|(Too large resource version: \d+, current: )\d+|"\d+s"(\],"object":)`)

// token is a token to continue a list with, which has the version of the list.
var token = regexp.MustCompile(`("continue":)"[^"]+"`)

// TestAnswersAreTheServers compares each answer of the relay with that of the API server behind it,
// byte by byte.
func TestAnswersAreTheServers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	// The version of the relay's list, where its window of ConfigMaps begins. The API server writes
	// objects of its own at any time: the newest of these ConfigMaps may be older than the window,
	// and a list that the API server answers now may be newer.
	first := r.get(r.url, "", "/api/v1/configmaps?resourceVersion=0").body
	version := regexp.MustCompile(`"resourceVersion":"(\d+)"`).FindStringSubmatch(first)[1]
	metadata := "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
	v := "resourceVersion=" + version
	cases := []struct{ accept, path string }{
		{"", "/api/v1/configmaps"},
		{"", "/api/v1/configmaps?limit=2"},
		{"", "/api/v1/configmaps?" + v},
		{"", "/api/v1/configmaps?" + v + "&limit=2"},
		{"", "/api/v1/configmaps?" + v + "&limit=2&resourceVersionMatch=NotOlderThan"},
		{"", "/api/v1/configmaps?" + v + "&resourceVersionMatch=Exact"},
		{"", "/api/v1/configmaps?" + v + "&labelSelector=n%3D1"},
		{"", "/api/v1/configmaps?" + v + "&labelSelector=n%3D1&limit=1"},
		{"", "/api/v1/configmaps?" + v + "&fieldSelector=metadata.name%3Dc1"},
		{"", "/api/v1/configmaps?" + v + "&fieldSelector=data%3Dx"},
		{"", "/api/v1/namespaces/default/configmaps?" + v},
		{"", "/api/v1/namespaces/none/configmaps?" + v},
		{"", "/api/v1/namespaces/default/configmaps/c1?" + v},
		{"", "/api/v1/namespaces/default/configmaps/c1"},
		{"", "/api/v1/namespaces/default/configmaps/none?" + v},
		{"", "/api/v1/namespaces/default/pods?resourceVersion=0&fieldSelector=spec.nodeName%3Dx"},
		{"", "/api/v1/configmaps?resourceVersion=x"},
		{"", "/api/v1/configmaps?resourceVersionMatch=Exact"},
		{"", "/api/v1/configmaps?continue=x"},
		{"", "/api/v1/configmaps?resourceVersion=999999999"},
		{"", "/api/v1/configmaps?watch=true&timeoutSeconds=1&" + v},
		{"", "/api/v1/configmaps?watch=true&timeoutSeconds=1&resourceVersion=0"},
		{metadata, "/api/v1/configmaps?" + v},
		{"", "/api/v1/configmaps?resourceVersion=0&limit=2"},
		{"", "/api/v1/configmaps?resourceVersion=0&resourceVersionMatch=Exact"},
		{"", "/api/v1/configmaps?resourceVersion=0&labelSelector=n%20in%20(0)"},
		{"", "/api/v1/configmaps?resourceVersion=0&labelSelector=n%20in%20("},
		{"", "/api/v1/configmaps?resourceVersion=0&fieldSelector=metadata.name%3E1"},
		{"", "/api/v1/configmaps?resourceVersion=0&fieldSelector=metadata.name%21%3Dc1,metadata.namespace%3Ddefault"},
		{"", "/api/v1/configmaps?resourceVersion=0&limit=-1"},
		{"", "/api/v1/configmaps?resourceVersion=5&continue=x"},
		{"", "/api/v1/configmaps?sendInitialEvents=true&" + v},
		{"", "/api/v1/configmaps?watch=true&sendInitialEvents=true&" + v},
		{"", "/api/v1/configmaps?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dc1&resourceVersion=0"},
		{"", "/api/v1/namespaces/default/configmaps/c1?watch=true&" + v},
		{"", "/api/v1/namespaces/default/configmaps?limit=1&resourceVersionMatch=NotOlderThan&fieldSelector=metadata.name%3Dc1&" + v},
		{"", "/api/v1/namespaces/default?resourceVersion=0"},
		{"", "/api/v1/namespaces/default/configmaps/c1?resourceVersion=0"},
		{"application/json;as=Table;g=meta.k8s.io;v=v1", "/api/v1/configmaps?" + v},
		{"application/vnd.kubernetes.protobuf", "/api/v1/configmaps?" + v},
		{"", "/api/v1"},
		{"", "/version"},
		{"", "/api/v1/configmaps?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=999999999"},
		{"", "/api/v1/namespaces?fieldSelector=metadata.namespace%3D&resourceVersion=0"},
		{"", "/api/v1/namespaces/default/configmaps/c1?limit=x&labelSelector=%21%21&fieldSelector=a&resourceVersionMatch=x&watch=x&timeoutSeconds=x&" + v},
		{"", "/api/v1/namespaces/default/configmaps/c1?sendInitialEvents=true&continue=x&resourceVersion=0"},
	}
	for _, accept := range []string{
		"application/*", "application/*;q=0.1, application/json;q=0.2", "*/*", "APPLICATION/JSON", "text/html, */*;q=0.1", "application/yaml, application/json", "application/json;q=0, application/yaml",
		"application/yaml;q=0.1, application/json;q=0.2", "application/json;v=v1", "application/json;g=x;v=y", "application/json;stream=x", "application/json;stream=watch;q=1",
		"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1, application/json",
		"application/json;as=Nope;g=meta.k8s.io;v=v1, application/json", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1;q=0.1, application/json;q=0.9",
		"application/json;q=0.1, application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1;q=0.9", "application/json; as=PartialObjectMetadata; g=meta.k8s.io; v=v1",
	} {
		for _, path := range []string{"?" + v, "/c1?" + v, "?watch=true&timeoutSeconds=1&" + v} {
			cases = append(cases, struct{ accept, path string }{accept, "/api/v1/namespaces/default/configmaps" + path})
		}
	}
	for _, tt := range cases {
		got, want := r.get(r.url, tt.accept, tt.path), r.get(r.cluster.Access().URL, tt.accept, tt.path)
		// The server writes objects of its own all the time, so its version, which is in tokens,
		// too, moves between two requests.
		if !strings.Contains(tt.path, "Exact") {
			got.body, want.body = token.ReplaceAllString(got.body, "$1"), token.ReplaceAllString(want.body, "$1")
			got.body, want.body = moving.ReplaceAllString(got.body, "$1$2$3"), moving.ReplaceAllString(want.body, "$1$2$3")
		}
		if got != want {
			t.Errorf("%s as %q:\n%+v\nwant\n%+v", tt.path, tt.accept, got, want)
		}
	}
	// server/relay/README.md says why these differ.
	for path, codes := range map[string][2]int{
		"/api/v1/configmaps?watch=true&resourceVersion=x":                  {400, 500},
		"/api/v1/namespaces/default/configmaps/c1?resourceVersion=x":       {400, 500},
		"/api/v1/configmaps?watch=true&timeoutSeconds=1&resourceVersion=1": {410, 200},
	} {
		for i, server := range []string{r.url, r.cluster.Access().URL} {
			got := r.get(server, "", path)
			if code := codes[i]; got.code != code && !strings.Contains(got.body, fmt.Sprintf(`"code":%d}`, code)) {
				t.Errorf("%s at %s: %+v, want %d", path, server, got, code)
			}
		}
	}
	if got := r.get(r.url, "", "/api/v1/secrets"); got.code != http.StatusForbidden {
		t.Errorf("secrets: %+v", got)
	}
}

// TestReadersFollow has readers of each kind behind a relay, while the API server and the relay are
// killed and started again. In the end each has what the API server has, and the relay has listed
// no more than its server made necessary.
func TestReadersFollow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := t.TempDir()
	r.stop()
	var front atomic.Pointer[relay.Relay] // as a Service in front of the relay's processes
	entry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { front.Load().ServeHTTP(w, req) }))
	t.Cleanup(entry.Close)
	restart := func() {
		r.start(dir)
		front.Store(r.relay)
	}
	restart()
	client, err := transport.NewClient(transport.Config{Server: entry.URL, BearerToken: r.cluster.Access().AdminToken})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	var copies []*informer.Informer[*listwatch.Raw]
	for range 5 {
		lw, err := listwatch.New(client, configMaps, listwatch.Options[*listwatch.Raw]{})
		if err != nil {
			t.Fatal(err)
		}
		c := informer.New(lw, informer.Options[*listwatch.Raw]{})
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { _ = c.Run(ctx) })
		t.Cleanup(func() { cancel(); running.Wait() })
		copies = append(copies, c)
	}
	theirs := clientGo(t, &rest.Config{Host: entry.URL, BearerToken: r.cluster.Access().AdminToken})
	n := 0
	for round := range 6 {
		for range 20 {
			n++
			r.write(http.MethodPost, "/api/v1/namespaces/default/configmaps", fmt.Sprintf(`{"metadata":{"name":"n%d"}}`, n))
		}
		r.write(http.MethodDelete, fmt.Sprintf("/api/v1/namespaces/default/configmaps/n%d", n-round), "")
		switch round % 3 {
		case 0:
			r.stop()
			restart()
		case 1:
			r.killed.Store(true)
			if err := r.cluster.KillAPIServer(); err != nil {
				t.Fatal(err)
			}
			if err := r.cluster.StartAPIServer(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	lw, err := listwatch.New(r.client, configMaps, listwatch.Options[*listwatch.Raw]{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := source.All(t.Context(), lw, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range copies {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, one := range want.Items {
			if err := c.WaitForVersion(ctx, one.GetResourceVersion()); err != nil {
				t.Fatal(err)
			}
		}
		if have := c.Store().Len(); have != len(want.Items) {
			t.Errorf("a copy has %d objects, want %d", have, len(want.Items))
		}
	}
	for deadline := time.Now().Add(time.Minute); ; <-time.After(100 * time.Millisecond) {
		same := len(theirs.List()) == len(want.Items)
		for _, one := range want.Items {
			o, there, err := theirs.GetByKey(one.GetNamespace() + "/" + one.GetName())
			same = same && err == nil && there && o.(*unstructured.Unstructured).GetResourceVersion() == one.GetResourceVersion()
		}
		if same {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the copy of client-go has %d objects, want %d", len(theirs.List()), len(want.Items))
		}
	}
}

// clientGo returns the store of an informer of client-go.
func clientGo(t *testing.T, config *rest.Config) cache.Store {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	informer := dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(configMaps).Informer()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return informer.GetStore()
}
