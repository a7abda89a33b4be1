package relistprom_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/must"
	relistprom "github.com/relist-go/relist/prometheus"
	"github.com/relist-go/relist/server/relay"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/discovery"
)

// A relay has the gauges of its reflectors and its own, under the names of its resources.
func TestRelay(t *testing.T) {
	client, err := transport.NewClient(transport.Config{Server: "http://localhost"})
	must.OK(t, err)
	defer client.Close()
	resource := func(group, name string) discovery.Resource {
		return discovery.Resource{
			GroupVersionResource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: name}, Verbs: []string{"list", "watch"},
		}
	}
	r, err := relay.New(client, relay.Options{
		Resources:    []discovery.Resource{resource("", "pods"), resource("apps", "deployments")},
		Authenticate: relay.ClientCertificates, Authorize: relay.AllowAll,
	})
	must.OK(t, err)
	metrics := relistprom.New(nil)
	metrics.Relay(r)
	const want = `
# HELP relist_relay_watches Watches of readers that are open at a relay.
# TYPE relist_relay_watches gauge
relist_relay_watches{name="deployments.apps"} 0
relist_relay_watches{name="pods"} 0
# HELP relist_synced 1 if the whole state has come once, and 0 before.
# TYPE relist_synced gauge
relist_synced{name="deployments.apps"} 0
relist_synced{name="pods"} 0
`
	if err := testutil.CollectAndCompare(metrics, strings.NewReader(want), "relist_relay_watches", "relist_synced"); err != nil {
		t.Error(err)
	}
}
