// Warmstart prints the ConfigMaps of a cluster as they come and go, and saves them in a file. If it
// is started again, it has them before it has asked the server for anything, and then prints what
// has happened since.
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
	"github.com/relist-go/relist/informer/checkpoint"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/transport"
)

// ConfigMap has the fields of a ConfigMap that this program uses. The file has these fields, and no
// others.
type ConfigMap struct {
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: warmstart FILE")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1])
	stop()
	if !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file string) error {
	client, err := transport.FromKubeconfig(transport.KubeconfigOptions{})
	if err != nil {
		return err
	}
	defer client.Close()
	configMaps, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*ConfigMap]{
		Drop: []string{"metadata.managedFields"}, // so that the file does not have them, either
	})
	if err != nil {
		return err
	}
	cache := informer.New(configMaps, informer.Options[*ConfigMap]{
		Checkpoint: checkpoint.File[*ConfigMap](file, checkpoint.Options{}),
	})
	_, err = cache.AddHandler(informer.Handler[*ConfigMap]{
		OnAdd:    func(c *ConfigMap, initial bool) { fmt.Println(sign(initial), c.Namespace, c.Name) },
		OnUpdate: func(_, c *ConfigMap) { fmt.Println("~", c.Namespace, c.Name) },
		OnDelete: func(c *ConfigMap, _ bool) { fmt.Println("-", c.Namespace, c.Name) },
	})
	if err != nil {
		return err
	}
	return cache.Run(ctx)
}

// sign marks what was there before with =, and what is new with +.
func sign(initial bool) string {
	if initial {
		return "="
	}
	return "+"
}
