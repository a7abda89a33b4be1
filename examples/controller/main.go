// Controller keeps a ConfigMap with the prices of each Shop, which is a custom resource. It makes the ConfigMap, and writes it
// again if somebody changes or deletes it.
//
//	kubectl proxy &
//	go run ./examples/controller http://127.0.0.1:8001
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
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
)

// Shop has the fields of a Shop that this program uses; the decoder skips the others.
type Shop struct {
	metav1.ObjectMeta `json:"metadata"`
	Prices            map[string]string `json:"prices"`
}

// ConfigMap has its kind, too, because the program writes it.
type ConfigMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data"`
}

var shopKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Shop"}

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
	mapList, err2 := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*ConfigMap]{})
	if err := errors.Join(err, err2); err != nil {
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
		return 0, apply(ctx, server, shop)
	}
	return controller.Run(ctx, reconcile, controller.Options{Workers: 4},
		controller.For(shops),
		controller.Owns(configMaps, controller.Owner{Group: shopKind.Group, Kind: shopKind.Kind}))
}

// apply writes the ConfigMap of a Shop by server-side apply.
func apply(ctx context.Context, server string, shop *Shop) error {
	want := ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: shop.Prices}
	want.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(shop, shopKind)}
	body, err := json.Marshal(want)
	if err != nil {
		return err
	}
	url := server + transport.EscapePath("api", "v1", "namespaces", shop.Namespace, "configmaps", shop.Name) + "?fieldManager=shops&force=true"
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/apply-patch+yaml")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if answer, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode >= 300 {
		return fmt.Errorf("apply ConfigMap: %s: %.500s", resp.Status, answer)
	}
	return nil
}
