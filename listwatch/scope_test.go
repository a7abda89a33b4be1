package listwatch_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/transport"
)

func TestScopeOf(t *testing.T) {
	type partial = *metav1.PartialObjectMetadata
	client, err := transport.NewClient(transport.Config{Server: "http://127.0.0.1:1"})
	must.OK(t, err)
	defer client.Close()
	deployments, err := listwatch.New(client, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, listwatch.Options[partial]{Namespace: "shop"})
	must.OK(t, err)
	for _, tt := range []struct {
		name                string
		lw                  any
		resource, namespace string
	}{
		{"a Client", deployments, "deployments.apps", "shop"},
		{"a type that embeds one", struct{ *listwatch.Client[partial] }{deployments}, "deployments.apps", "shop"},
		{"Funcs", source.Funcs[partial]{Name: "things"}, "things", ""},
		{"a ListWatcher alone", struct{ source.ListWatcher[partial] }{deployments}, "", ""},
	} {
		if resource, namespace := source.ScopeOf(tt.lw); resource != tt.resource || namespace != tt.namespace {
			t.Errorf("%s: %q, %q, want %q, %q", tt.name, resource, namespace, tt.resource, tt.namespace)
		}
	}
}
