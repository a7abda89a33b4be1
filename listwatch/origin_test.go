package listwatch_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/transport"
)

type partial = metav1.PartialObjectMetadata

// Options that ask for the same have one Origin, however they are written.
func TestOriginOfEqualOptions(t *testing.T) {
	client, err := transport.NewClient(transport.Config{Server: "http://127.0.0.1:1"})
	must.OK(t, err)
	t.Cleanup(client.Close)
	open := func(opts listwatch.Options[*partial]) *listwatch.Client[*partial] {
		r, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, opts)
		must.OK(t, err)
		return r
	}
	one := open(listwatch.Options[*partial]{
		LabelSelector: "app=web,tier!=db", Drop: []string{"metadata.managedFields", "metadata.annotations"},
	})
	for name, test := range map[string]struct {
		opts listwatch.Options[*partial]
		same bool
	}{
		"in another order": {listwatch.Options[*partial]{
			LabelSelector: "tier != db, app = web",
			Drop:          []string{"metadata.annotations", "metadata.managedFields", "metadata.annotations"},
		}, true},
		"other labels": {listwatch.Options[*partial]{LabelSelector: "app=web", Drop: []string{"metadata.managedFields", "metadata.annotations"}}, false},
		"fewer drops":  {listwatch.Options[*partial]{LabelSelector: "app=web,tier!=db", Drop: []string{"metadata.annotations"}}, false},
	} {
		other := open(test.opts)
		if same := other.Origin() == one.Origin(); same != test.same {
			t.Errorf("%s: equal Origins are %v, want %v:\n%s\n%s", name, same, test.same, other.Origin(), one.Origin())
		}
	}
}
