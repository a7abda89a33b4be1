// Package lazily lists and watches lazy objects of a real kube-apiserver.
package lazily

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/lazy"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/transport"
)

type lazyRole = lazy.Object[*rbacv1.ClusterRole]

// An object is the same bytes from a list and from initial events. This server does not know that
// it should leave managedFields out, and does not compress initial events, and the client manages
// with that.
func TestLazyObjects(t *testing.T) {
	c := cluster.New(t, cluster.Options{})
	config := c.Access().Config()
	config.Compression = transport.CompressionGzip
	client, err := transport.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	for name, in := range map[string]listwatch.Encoding{"JSON": listwatch.JSON, "protobuf": listwatch.Protobuf} {
		for _, drop := range [][]string{nil, {"metadata.managedFields"}} {
			encoding, err := lazy.New[*rbacv1.ClusterRole](lazy.Options{Encoding: in})
			if err != nil {
				t.Fatal(err)
			}
			roles, err := listwatch.New(client, schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
				listwatch.Options[*lazyRole]{Encoding: encoding, Drop: drop})
			if err != nil {
				t.Fatal(err)
			}
			page, err := roles.List(t.Context(), metav1.ListOptions{})
			if err != nil || len(page.Items) == 0 {
				t.Fatal(page, err)
			}
			listed := map[string]string{}
			for _, role := range page.Items {
				listed[role.GetName()] = string(role.Bytes())
				if whole, err := role.Get(); err != nil || (drop == nil) != (len(whole.ManagedFields) > 0) {
					t.Errorf("%s: %s without %q has %d managedFields, %v", name, role, drop, len(whole.ManagedFields), err)
				}
			}
			for _, role := range initialEvents(t, roles) {
				if listed[role.GetName()] != string(role.Bytes()) {
					t.Errorf("%s: %s without %q is %q in an event, and %q in a list", name, role, drop, role.Bytes(), listed[role.GetName()])
				}
				delete(listed, role.GetName())
			}
			if len(listed) > 0 {
				t.Errorf("%s: %d objects are in the list alone", name, len(listed))
			}
		}
	}
}

func initialEvents(t *testing.T, from *listwatch.Client[*lazyRole]) (all []*lazyRole) {
	t.Helper()
	yes := true
	watch, err := from.Watch(t.Context(), metav1.ListOptions{
		SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	for {
		switch event, err := watch.Next(); {
		case err != nil || event.Err != nil:
			t.Fatal(err, event.Err)
		case event.InitialEventsEnd:
			return all
		default:
			all = append(all, event.Object)
		}
	}
}
