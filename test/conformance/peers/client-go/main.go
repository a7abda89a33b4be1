// Client-go keeps the ConfigMaps of a server by a shared informer, for test/conformance/peers.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/relist-go/relist/test/conformance/peers/digest"
)

func main() {
	json := flag.Bool("json", false, "ask for JSON, not for protobuf")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, *json)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, json bool) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	if json {
		config.AcceptContentTypes, config.ContentType = "application/json", "application/json"
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	configMaps := factory.Core().V1().ConfigMaps().Informer()
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	return digest.Print(ctx, os.Stdout, func() []digest.Object {
		var held []digest.Object
		for _, obj := range configMaps.GetStore().List() {
			if c, ok := obj.(*corev1.ConfigMap); ok {
				held = append(held, digest.Object{Namespace: c.Namespace, Name: c.Name, Data: c.Data})
			}
		}
		return held
	})
}
