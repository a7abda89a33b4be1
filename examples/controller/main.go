// Controller keeps a ConfigMap with the prices of each Shop, which is a custom resource. It makes
// the ConfigMap, writes it again if somebody changes or deletes it, and says in the status of the
// Shop how many prices it has published. Of several replicas, one works.
//
//	go run ./examples/controller    # with a kubeconfig, or in a pod
package main

import (
	"context"
	"errors"
	"log"
	"os/signal"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist"
	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/controller/lease"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

var shopType = object.Type{Group: "example.com", Version: "v1", Resource: "shops", Kind: "Shop"}

// Shop has the fields of a Shop that this program uses; the decoder skips the others.
type Shop struct {
	metav1.ObjectMeta `json:"metadata"`

	Prices map[string]string `json:"prices"`
	Status struct {
		Published int `json:"published"`
	} `json:"status"`
}

var configMapType = object.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}

// ConfigMap has the fields of a ConfigMap that this program reads and writes.
type ConfigMap struct {
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data,omitempty"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	client, err := transport.FromKubeconfig(transport.KubeconfigOptions{}) // of a pod, or as kubectl does
	if err != nil {
		return err
	}
	defer client.Close()
	shops, err := relist.New(client, shopType, relist.Options[*Shop]{})
	if err != nil {
		return err
	}
	configMaps, err := relist.New(client, configMapType, relist.Options[*ConfigMap]{})
	if err != nil {
		return err
	}
	leader, err := lease.New(client, lease.Options{Namespace: "default", Name: "shops"})
	if err != nil {
		return err
	}

	reconcile := func(ctx context.Context, key string) (time.Duration, error) {
		shop, exists := shops.Store().Get(key)
		if !exists || shop.DeletionTimestamp != nil {
			return 0, nil // the cluster's garbage collector deletes the ConfigMap
		}
		_, err := configMaps.CreateOrModify(ctx, controller.OwnedMeta(shop, shopType, shop.Name), func(c *ConfigMap) {
			c.Data = shop.Prices
		})
		if err != nil {
			return 0, err // relist.ErrNotOwned if somebody else has a ConfigMap of this name
		}
		_, err = shops.ModifyStatus(ctx, shop, func(s *Shop) { s.Status.Published = len(s.Prices) })
		return 0, err
	}
	return controller.Run(ctx, reconcile, controller.Options{Leader: leader},
		controller.For(shops), controller.Owns(configMaps, shopType))
}
