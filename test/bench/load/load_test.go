package load

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/cbor"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/test/bench/objects"
	"github.com/relist-go/relist/transport"
)

// TestEachWay lists and watches in each encoding and over each transport: the same objects come, and the same changes.
func TestEachWay(t *testing.T) {
	for _, encoding := range []struct {
		name string
		listwatch.Encoding
	}{{"JSON", listwatch.JSON}, {"protobuf", listwatch.Protobuf}, {"CBOR", cbor.Encoding}} {
		for _, how := range []transport.WatchTransport{transport.WatchHTTP, transport.WatchWebSocket} {
			t.Run(encoding.name+"/"+how.String(), func(t *testing.T) {
				const n = 25
				url, upgrades := start(t, n)
				client, err := transport.NewClient(transport.Config{Server: url, WatchTransport: how})
				must(t, err)
				t.Cleanup(client.Close)
				resource, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
					listwatch.Options[*corev1.ConfigMap]{Encoding: encoding.Encoding})
				must(t, err)
				list, err := source.All(t.Context(), resource, metav1.ListOptions{Limit: 10})
				must(t, err)
				if len(list.Items) != n || len(list.Errors) > 0 || list.Pages != 3 {
					t.Fatalf("%d objects on %d pages, errors %v", len(list.Items), list.Pages, list.Errors)
				}
				watch, err := resource.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
				must(t, err)
				defer watch.Close()
				last := post(t, url+"/bench/change?resource=configmaps&count=3")
				for i := range 3 {
					event, err := watch.Next()
					must(t, err)
					if event.Type != listwatch.Modified || event.Object.Name != list.Items[i].Name || event.Object.UID != list.Items[i].UID {
						t.Errorf("event %d: %s %s, want the change of %s", i, event.Type, event.Object.Name, list.Items[i].Name)
					}
					if i == 2 && event.Meta.ResourceVersion != last {
						t.Errorf("the last event is at %s, want %s", event.Meta.ResourceVersion, last)
					}
				}
				post(t, url+"/bench/expire?resource=configmaps&count=0")
				if _, err := watch.Next(); err == nil || !strings.Contains(err.Error(), "too old") {
					t.Errorf("the watch ended with %v, want 410", err)
				}
				if got := upgrades.Load() > 0; got != (how == transport.WatchWebSocket) {
					t.Errorf("a WebSocket was opened: %t", got)
				}
			})
		}
	}
}

// TestNamespaces lists one namespace, with the remaining count of a page.
func TestNamespaces(t *testing.T) {
	url, _ := start(t, 35)
	for namespace, want := range map[int]int{0: objects.PerNamespace, 3: 5, 4: 0} {
		response, err := http.Get(url + "/api/v1/namespaces/" + objects.Namespace(namespace) + "/configmaps") //nolint:noctx // a test
		must(t, err)
		var list corev1.ConfigMapList
		must(t, json.NewDecoder(response.Body).Decode(&list))
		must(t, response.Body.Close())
		if len(list.Items) != want {
			t.Errorf("namespace %d has %d objects, want %d", namespace, len(list.Items), want)
		}
	}
}

// start starts a server of n ConfigMaps, and counts the WebSockets.
func start(t *testing.T, n int) (url string, upgrades *atomic.Int64) {
	set, err := objects.ConfigMaps(n)
	must(t, err)
	server, upgrades := New(Options{}, set), new(atomic.Int64)
	listener := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Upgrade") != "" {
			upgrades.Add(1)
		}
		server.ServeHTTP(rw, req)
	}))
	t.Cleanup(listener.Close)
	return listener.URL, upgrades
}

func post(t *testing.T, url string) (version string) {
	t.Helper()
	response, err := http.Post(url, "", http.NoBody) //nolint:noctx // a test
	must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	version = strings.TrimSpace(string(body))
	if _, err := strconv.ParseUint(version, 10, 64); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", url, response.Status, body)
	}
	return version
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestByName lists one object by its name. That is a request, and no object of a list.
func TestByName(t *testing.T) {
	url, _ := start(t, 35)
	list := func(query string) (list corev1.ConfigMapList) {
		t.Helper()
		response, err := http.Get(url + "/api/v1/configmaps" + query) //nolint:noctx // a test
		must(t, err)
		must(t, json.NewDecoder(response.Body).Decode(&list))
		must(t, response.Body.Close())
		return list
	}
	want := list("").Items[21]
	one := list("?limit=2&fieldSelector=metadata.namespace%3D" + want.Namespace + "%2Cmetadata.name%3D" + want.Name)
	if len(one.Items) != 1 || one.Items[0].UID != want.UID {
		t.Errorf("got %d objects, want %s alone", len(one.Items), want.Name)
	}
	if none := list("?fieldSelector=metadata.name%3Dsettings-zzzzz"); len(none.Items) != 0 {
		t.Errorf("got %s by a name that nobody has", none.Items[0].Name)
	}
	for action, want := range map[string]string{"asked": "3", "listed": "35"} {
		if got := post(t, url+"/bench/"+action+"?resource=configmaps&count=0"); got != want {
			t.Errorf("%s is %s, want %s", action, got, want)
		}
	}
}
