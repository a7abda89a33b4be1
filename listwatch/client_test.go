package listwatch

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/must"
)

func TestPath(t *testing.T) {
	for _, test := range []struct {
		gvr       schema.GroupVersionResource
		namespace string
		want      string // "" is an error
	}{
		{configMaps, "", "/api/v1/configmaps"},
		{configMaps, "default", "/api/v1/namespaces/default/configmaps"},
		{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "", "/apis/apps/v1/deployments"},
		{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "a b/c?d", "/apis/apps/v1/namespaces/a%20b%2Fc%3Fd/deployments"},
		{schema.GroupVersionResource{Version: "v1", Resource: "../secrets"}, "", "/api/v1/..%2Fsecrets"},
		{configMaps, "..", ""},
		{schema.GroupVersionResource{Version: "v1", Resource: "."}, "", ""},
		{schema.GroupVersionResource{Version: "v1"}, "", ""},
		{schema.GroupVersionResource{Resource: "pods"}, "", ""},
	} {
		got, err := Path(test.gvr, test.namespace)
		if got != test.want || (err != nil) != (test.want == "") {
			t.Errorf("Path(%v, %q) = %q, %v, want %q", test.gvr, test.namespace, got, err, test.want)
		}
	}
}

func TestRequestsCarryOptionsAndSelectors(t *testing.T) {
	var asked []string
	client := serve(t, func(w http.ResponseWriter, req *http.Request) {
		asked = append(asked, req.URL.String())
		body(`{"items":[]}`)(w, req)
	})
	r := mustNew(t, client, Options[*configMap]{Namespace: "n", LabelSelector: "a=b,c!=d", FieldSelector: "metadata.name=x"})
	if _, err := r.List(t.Context(), metav1.ListOptions{ResourceVersion: "0", Limit: 500}); err != nil {
		t.Fatal(err)
	}
	seconds := int64(300)
	w, err := r.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "5", AllowWatchBookmarks: true, TimeoutSeconds: &seconds})
	must.OK(t, err)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	want := []string{
		"/api/v1/namespaces/n/configmaps?fieldSelector=metadata.name%3Dx&labelSelector=a%3Db%2Cc%21%3Dd&limit=500&resourceVersion=0",
		"/api/v1/namespaces/n/configmaps?allowWatchBookmarks=true&fieldSelector=metadata.name%3Dx&labelSelector=a%3Db%2Cc%21%3Dd&resourceVersion=5&timeoutSeconds=300&watch=true",
	}
	for i := range want {
		if i >= len(asked) || asked[i] != want[i] {
			t.Fatalf("asked for\n%q, want\n%q", asked, want)
		}
	}
	if got := r.String(); got != "configmaps in n" {
		t.Errorf("the resource calls itself %q", got)
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	if _, err := New(nil, configMaps, Options[*configMap]{}); err == nil {
		t.Error("no client was accepted")
	}
	client := serve(t, body(""))
	if _, err := New(client, schema.GroupVersionResource{}, Options[*configMap]{}); err == nil {
		t.Error("no resource was accepted")
	}
	// A server would answer 400 to each request, and a reflector would ask forever.
	for want, opts := range map[string]Options[*configMap]{
		`listwatch: LabelSelector "app in web": unable to parse requirement: found 'web' expected: '('`: {LabelSelector: "app in web"},
		`listwatch: FieldSelector "node": invalid selector: 'node'; can't understand 'node'`:            {FieldSelector: "node"},
	} {
		if _, err := New(client, configMaps, opts); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// A kind in place of the plural name is a 404 forever.
func TestNewRefusesAKind(t *testing.T) {
	client := serve(t, body(""))
	for kind, plural := range map[string]string{"Widget": `"widgets"`, "NetworkPolicy": `"networkpolicies"`, "Ingress": `"ingresses"`, "ConfigMaps": `"configmaps"`} {
		_, err := New(client, schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: kind}, Options[*configMap]{})
		if err == nil || !strings.Contains(err.Error(), plural) || !strings.Contains(err.Error(), `"`+kind+`"`) {
			t.Errorf("error of %s is %v", kind, err)
		}
	}
}

func TestCancelEndsAWatchThatWaits(t *testing.T) {
	opened := make(chan struct{})
	client := serve(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		close(opened)
		<-req.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	w, err := mustNew(t, client, Options[*configMap]{}).Watch(ctx, metav1.ListOptions{})
	must.OK(t, err)
	defer w.Close()
	<-opened
	cancel()
	if _, err := w.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("Next returned %v, want context.Canceled", err)
	}
}
