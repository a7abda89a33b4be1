// Package tested is a part of a program, with a test against a server that forgets
// events, breaks connections and refuses requests.
package tested

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// ConfigMap has the fields of a ConfigMap that this program uses.
type ConfigMap struct {
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data"`
}

// Follow calls changed for each ConfigMap that comes, changes or goes, until ctx ends.
func Follow(ctx context.Context, config transport.Config, opts reflector.Options, changed func(what, key string)) error {
	client, err := transport.NewClient(config)
	if err != nil {
		return err
	}
	defer client.Close()
	resource := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	configMaps, err := listwatch.New(client, resource, listwatch.Options[*ConfigMap]{})
	if err != nil {
		return err
	}
	cache := informer.New(configMaps, informer.Options[*ConfigMap]{Reflector: opts})
	_, err = cache.AddHandler(informer.Handler[*ConfigMap]{
		OnAdd:    func(c *ConfigMap, _ bool) { changed("added", object.Key(c)) },
		OnUpdate: func(_, c *ConfigMap) { changed("updated", object.Key(c)) },
		OnDelete: func(c *ConfigMap, inferred bool) {
			if inferred {
				changed("gone", object.Key(c))
				return
			}
			changed("deleted", object.Key(c))
		},
	})
	if err != nil {
		return err
	}
	return cache.Run(ctx)
}
