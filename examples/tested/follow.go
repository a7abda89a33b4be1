// Package tested is a part of a program, and the test that it deserves: one against a
// server that forgets, breaks connections and refuses.
package tested

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// ConfigMap has what this program wants to know of one.
type ConfigMap struct {
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data"`
}

// Follow calls changed for each ConfigMap that comes, changes or goes, until ctx ends.
func Follow(ctx context.Context, client *transport.Client, opts reflector.Options, changed func(what, key string)) error {
	resource := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	configMaps, err := listwatch.New(client, resource, listwatch.Options[*ConfigMap]{})
	if err != nil {
		return err
	}
	cache := informer.New(configMaps, informer.Options[*ConfigMap]{Reflector: opts})
	_, err = cache.AddHandler(informer.Handler[*ConfigMap]{
		OnAdd:    func(c *ConfigMap, _ bool) { changed("added", store.Key(c)) },
		OnUpdate: func(_, c *ConfigMap) { changed("updated", store.Key(c)) },
		OnDelete: func(c *ConfigMap, finalStateUnknown bool) {
			if finalStateUnknown {
				changed("gone", store.Key(c))
				return
			}
			changed("deleted", store.Key(c))
		},
	})
	if err != nil {
		return err
	}
	return cache.Run(ctx)
}
