package load

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/test/bench/objects"
	"github.com/relist-go/relist/transport"
)

// TestEachEncoding lists and watches: the same objects come, and the same changes.
func TestEachEncoding(t *testing.T) {
	for name, encoding := range map[string]listwatch.Encoding{"JSON": listwatch.JSON, "protobuf": listwatch.Protobuf} {
		t.Run(name, func(t *testing.T) {
			url, pods := start(t, listwatch.Options[*corev1.Pod]{Encoding: encoding})
			list, err := source.All(t.Context(), pods, metav1.ListOptions{Limit: 10})
			must.OK(t, err)
			if len(list.Items) != n || len(list.Errors) > 0 || list.Pages != 3 {
				t.Fatalf("%d objects on %d pages, errors %v", len(list.Items), list.Pages, list.Errors)
			}
			watch, err := pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
			must.OK(t, err)
			defer watch.Close()
			last := post(t, url+"/bench/change?count=3")
			for i := range 3 {
				event, err := watch.Next()
				must.OK(t, err)
				if event.Type != object.Modified || event.Object.Name != list.Items[i].Name || event.Object.UID != list.Items[i].UID {
					t.Errorf("event %d: %s %s, want the change of %s", i, event.Type, event.Object.Name, list.Items[i].Name)
				}
				if i == 2 && event.Meta.ResourceVersion != last {
					t.Errorf("the last event is at %s, want %s", event.Meta.ResourceVersion, last)
				}
			}
			post(t, url+"/bench/expire?count=0")
			if _, err := watch.Next(); err == nil || !strings.Contains(err.Error(), "too old") {
				t.Errorf("the watch ended with %v, want 410", err)
			}
		})
	}
}

// TestByName lists one object by its name, and a namespace, which has none.
func TestByName(t *testing.T) {
	_, pods := start(t, listwatch.Options[*corev1.Pod]{})
	list, err := source.All(t.Context(), pods, metav1.ListOptions{})
	must.OK(t, err)
	want := list.Items[21]
	one, err := source.All(t.Context(), pods, metav1.ListOptions{Limit: 2, FieldSelector: "metadata.namespace=" + want.Namespace + ",metadata.name=" + want.Name})
	must.OK(t, err)
	if len(one.Items) != 1 || one.Items[0].UID != want.UID {
		t.Errorf("got %d objects, want %s alone", len(one.Items), want.Name)
	}
	_, pods = start(t, listwatch.Options[*corev1.Pod]{FieldSelector: "spec.nodeName=node-0003"})
	if one, err = source.All(t.Context(), pods, metav1.ListOptions{Limit: 2}); err != nil || len(one.Items) != 1 || one.Items[0].Spec.NodeName != "node-0003" {
		t.Errorf("a node has %d objects, %v", len(one.Items), err)
	}
	_, pods = start(t, listwatch.Options[*corev1.Pod]{Namespace: want.Namespace})
	if list, err = source.All(t.Context(), pods, metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("a namespace has %d objects, %v", len(list.Items), err)
	}
}

// n is the number of Pods of a server.
const n = 25

// start starts a server, and returns a client of it.
func start(t *testing.T, opts listwatch.Options[*corev1.Pod]) (url string, pods *listwatch.Client[*corev1.Pod]) {
	t.Helper()
	set, err := objects.Pods("../../../testdata/pods-300.json.gz", n)
	must.OK(t, err)
	listener := httptest.NewServer(New(set, false))
	t.Cleanup(listener.Close)
	client, err := transport.NewClient(transport.Config{Server: listener.URL})
	must.OK(t, err)
	t.Cleanup(client.Close)
	pods, err = listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, opts)
	must.OK(t, err)
	return listener.URL, pods
}

func post(t *testing.T, url string) (version string) {
	t.Helper()
	response, err := http.Post(url, "", http.NoBody) //nolint:noctx // a test
	must.OK(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must.OK(t, err)
	version = strings.TrimSpace(string(body))
	if _, err := strconv.ParseUint(version, 10, 64); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", url, response.Status, body)
	}
	return version
}
