// Namespaces mirrors ConfigMaps into files, those of each namespace that has the label mirror=true.
// When a namespace gains the label, its ConfigMaps are written; when it loses the label or is
// deleted, they go. DIR must not exist yet.
//
//	kubectl proxy &
//	go run ./examples/namespaces http://127.0.0.1:8001 DIR
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/transport"
)

// ConfigMap has the fields of a ConfigMap that this program uses; the decoder skips the others.
type ConfigMap struct {
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data"`
}

// Namespace is only a name here.
type Namespace struct {
	metav1.ObjectMeta `json:"metadata"`
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: namespaces SERVER DIR")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1], os.Args[2])
	stop()
	if !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

func run(ctx context.Context, server, dir string) error {
	client, err := transport.NewClient(transport.Config{Server: server})
	if err != nil {
		return err
	}
	labeled, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, listwatch.Options[*Namespace]{
		LabelSelector: "mirror=true",
	})
	if err != nil {
		return err
	}
	configMaps := informer.NewMultiNamespace(func(namespace string) (source.ListWatcher[*ConfigMap], error) {
		return listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*ConfigMap]{
			Namespace: namespace,
		})
	}, informer.Options[*ConfigMap]{})
	if err := mirror(configMaps, dir); err != nil {
		return err
	}
	namespaces := informer.New(labeled, informer.Options[*Namespace]{})
	_, err = namespaces.AddHandler(informer.Handler[*Namespace]{
		OnAdd: func(ns *Namespace, _ bool) { check(configMaps.Add(ns.Name)) },
		OnDelete: func(ns *Namespace, _ bool) {
			check(configMaps.Remove(ctx, ns.Name)) // when it returns, the files are gone
			fmt.Println("forgot", ns.Name)
		},
	})
	if err != nil {
		return err
	}
	group := informer.NewGroup()
	if err := errors.Join(group.Add("namespaces", namespaces), group.Add("configmaps", configMaps)); err != nil {
		return err
	}
	return group.Run(ctx)
}

// mirror keeps a file for each ConfigMap.
func mirror(configMaps *informer.MultiNamespace[*ConfigMap], dir string) error {
	if err := os.Mkdir(dir, 0o750); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir) // whatever a server calls its objects, nothing outside of dir is touched
	if err != nil {
		return err
	}
	write := func(c *ConfigMap) {
		data, err := json.Marshal(c.Data)
		check(errors.Join(err, root.MkdirAll(c.Namespace, 0o750), root.WriteFile(path.Join(c.Namespace, c.Name+".json"), data, 0o600)))
		fmt.Println("wrote", path.Join(c.Namespace, c.Name))
	}
	_, err = configMaps.AddHandler(informer.Handler[*ConfigMap]{
		OnAdd:    func(c *ConfigMap, _ bool) { write(c) },
		OnUpdate: func(_, c *ConfigMap) { write(c) },
		OnDelete: func(c *ConfigMap, _ bool) {
			check(root.Remove(path.Join(c.Namespace, c.Name+".json")))
			fmt.Println("removed", path.Join(c.Namespace, c.Name))
		},
	})
	return err
}

func check(err error) {
	if err != nil {
		log.Print(err)
	}
}
