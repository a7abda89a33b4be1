// Quickstart prints the ConfigMaps of a cluster as they come and go.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/transport"
)

// ConfigMap has the fields of a ConfigMap that this program uses; the decoder skips the others.
type ConfigMap struct {
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	client, err := transport.FromKubeconfig(transport.KubeconfigOptions{})
	if err != nil {
		return err
	}
	configMaps, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*ConfigMap]{})
	if err != nil {
		return err
	}
	cache := informer.New(configMaps, informer.Options[*ConfigMap]{})
	_, err = cache.AddHandler(informer.Handler[*ConfigMap]{
		OnAdd:    func(c *ConfigMap, _ bool) { fmt.Println("+", c.Namespace, c.Name) },
		OnUpdate: func(old, c *ConfigMap) { fmt.Println("~", c.Namespace, c.Name, len(old.Data), "->", len(c.Data)) },
		OnDelete: func(c *ConfigMap, _ bool) { fmt.Println("-", c.Namespace, c.Name) },
	})
	if err != nil {
		return err
	}
	return cache.Run(ctx)
}
