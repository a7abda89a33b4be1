package durable_test

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/sqlite"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/transport"
)

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// The example of durable/databases.md.
func Example() {
	_ = func(ctx context.Context, client *transport.Client) error {
		opts := listwatch.Options[*listwatch.Raw]{Drop: []string{"metadata.managedFields"}}
		pods, err := listwatch.New(client, podResource, opts)
		if err != nil {
			return err
		}
		db, err := sqlite.Open("cluster.db", sqlite.Options{})
		if err != nil {
			return err
		}
		defer db.Close()
		table, err := sqlite.New(db, durable.Table{Resource: podResource, Columns: []string{"node=.spec.nodeName"}}, (*listwatch.Raw).MarshalJSON)
		if err != nil {
			return err
		}
		identify := func(ctx context.Context) (string, error) { return durable.ClusterUID(ctx, client) }
		cluster, err := identify(ctx)
		if err != nil {
			return err
		}
		mirror, err := durable.New(pods, table, durable.Options{Stream: durable.StreamOf(cluster, podResource, opts, ""), Identify: identify})
		if err != nil {
			return err
		}
		return mirror.Run(ctx)
	}
}
