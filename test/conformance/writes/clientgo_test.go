package writes

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/relist-go/relist/controller/writer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/transport"
)

// busy is a server that answers 429 with Retry-After, and notes what it is asked.
type busy struct{ asked []string }

func (b *busy) RoundTrip(r *http.Request) (*http.Response, error) {
	b.asked = append(b.asked, r.Method+" "+r.URL.RequestURI())
	header := http.Header{"Content-Type": {"application/json"}, "Retry-After": {"1"}}
	status := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}`
	return &http.Response{StatusCode: http.StatusTooManyRequests, Header: header, Body: io.NopCloser(strings.NewReader(status)), Request: r}, nil
}

// TestWritesDiffer is the proof of docs/differences.md#writes.
func TestWritesDiffer(t *testing.T) {
	obj := func() *unstructured.Unstructured { // without a resourceVersion
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "default", "name": "a"}}}
	}
	synctest.Test(t, func(t *testing.T) {
		server := &busy{}
		client, err := dynamic.NewForConfig(&rest.Config{Host: "https://api.example", Transport: server, QPS: -1})
		must.OK(t, err)
		_, err = client.Resource(configMaps.GroupVersionResource()).Namespace("default").Update(t.Context(), obj(), metav1.UpdateOptions{})
		if !apierrors.IsTooManyRequests(err) || len(server.asked) != 11 {
			t.Errorf("client-go: %d requests, %v", len(server.asked), err)
		}
		if want := "PUT /api/v1/namespaces/default/configmaps/a"; server.asked[0] != want {
			t.Errorf("client-go: %s, want %s", server.asked[0], want)
		}
	})
	server := &busy{}
	client, err := transport.NewClient(transport.Config{Server: "https://api.example", RoundTripper: server})
	must.OK(t, err)
	w, err := writer.New[*unstructured.Unstructured](client, configMaps, writer.Options{})
	must.OK(t, err)
	if _, err = w.Update(t.Context(), obj()); err == nil || len(server.asked) != 0 {
		t.Errorf("relist: %q, %v", server.asked, err)
	}
	read := obj()
	read.SetResourceVersion("7")
	_, err = w.Update(t.Context(), read)
	if seconds, ok := apierrors.SuggestsClientDelay(err); !ok || seconds != 1 || len(server.asked) != 1 {
		t.Errorf("relist: %d requests, %v", len(server.asked), err)
	}
	if want := "PUT /api/v1/namespaces/default/configmaps/a?fieldValidation=Strict"; len(server.asked) > 0 && server.asked[0] != want {
		t.Errorf("relist: %s, want %s", server.asked[0], want)
	}
}
