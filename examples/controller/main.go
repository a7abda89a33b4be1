// Controller keeps a ConfigMap with the prices of each Shop, which is a custom resource. It makes the ConfigMap, and writes it
// again if somebody changes or deletes it.
//
//	kubectl proxy &
//	go run ./examples/controller http://127.0.0.1:8001
package main

import (
	"context"
	"errors"
	"log"
	"maps"
	"os"
	"os/signal"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/writer"
)

// Shop has the fields of a Shop that this program uses; the decoder skips the others.
type Shop struct {
	metav1.ObjectMeta `json:"metadata"`
	Prices            map[string]string `json:"prices"`
}

// ConfigMap has the fields of a ConfigMap that this program reads and writes.
type ConfigMap struct {
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data"`
}

var (
	shopKind           = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Shop"}
	configMapsResource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[len(os.Args)-1])
	stop()
	if !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

func run(ctx context.Context, server string) error {
	client, err := transport.NewClient(transport.Config{Server: server})
	if err != nil {
		return err
	}
	shopList, err := listwatch.New(client, shopKind.GroupVersion().WithResource("shops"), listwatch.Options[*Shop]{})
	mapList, err2 := listwatch.New(client, configMapsResource, listwatch.Options[*ConfigMap]{})
	writes, err3 := writer.New[*ConfigMap](client, configMapsResource, writer.Options{Kind: "ConfigMap", FieldManager: "shops", Force: true})
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	shops, configMaps := informer.New(shopList, informer.Options[*Shop]{}), informer.New(mapList, informer.Options[*ConfigMap]{})
	reconcile := func(ctx context.Context, key string) (time.Duration, error) {
		shop, exists := shops.Store().Get(key)
		if !exists || shop.DeletionTimestamp != nil {
			return 0, nil // the cluster's garbage collector deletes the ConfigMap
		}
		have, exists := configMaps.Store().Get(key)
		if exists && !metav1.IsControlledBy(have, shop) {
			return 0, errors.New("the ConfigMap belongs to somebody else")
		}
		if exists && maps.Equal(have.Data, shop.Prices) {
			return 0, nil
		}
		want := &ConfigMap{Data: shop.Prices}
		want.Namespace, want.Name = shop.Namespace, shop.Name
		want.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(shop, shopKind)}
		_, err := writes.Apply(ctx, want)
		return 0, err
	}
	return controller.Run(ctx, reconcile, controller.Options{Workers: 4},
		controller.For(shops),
		controller.Owns(configMaps, controller.Owner{Group: shopKind.Group, Kind: shopKind.Kind}))
}
