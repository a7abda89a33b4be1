package postgres_test

import (
	"context"
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/postgres"
	"github.com/relist-go/relist/listwatch"
)

// ConfigMap is the part of a ConfigMap that the program keeps.
type ConfigMap struct {
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data"`
}

// A copy of all ConfigMaps of the cluster "east", with what they were in the last week.
func Example() {
	ctx := context.Background()
	run := func(url string, mirror func(context.Context, durable.Copy[*ConfigMap], listwatch.Options[*ConfigMap]) error) error {
		db, err := postgres.Open(ctx, url, postgres.Options{})
		if err != nil {
			return err
		}
		defer db.Close()
		encode := func(c *ConfigMap) ([]byte, error) { return json.Marshal(c) }
		configMaps, err := postgres.New(db, durable.Table{
			Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
			Cluster:  "east",
			Columns:  []string{`app=.metadata.labels["app.kubernetes.io/name"]`},
			History:  7 * 24 * time.Hour,
		}, encode)
		if err != nil {
			return err
		}
		opts := listwatch.Options[*ConfigMap]{Transform: func(c *ConfigMap) (*ConfigMap, error) {
			object, err := encode(c)
			if err == nil {
				err = postgres.Check(object)
			}
			return c, err
		}}
		// A second replica waits here, and continues when this one has ended.
		return db.Lead(ctx, func(ctx context.Context) error { return mirror(ctx, configMaps, opts) })
	}
	_ = run
}
