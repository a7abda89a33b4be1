// Relist keeps the ConfigMaps of a server by package informer, for test/conformance/peers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/test/conformance/peers/digest"
	"github.com/relist-go/relist/transport"
)

type configMap struct {
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data"`
}

func main() {
	webSocket := flag.Bool("websocket", false, "watch over WebSocket")
	verify := flag.Duration("verify", 0, "compare the copy with the server this often")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, *webSocket, *verify)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, webSocket bool, verify time.Duration) error {
	config, err := transport.LoadKubeconfig(transport.KubeconfigOptions{})
	if err != nil {
		return err
	}
	if webSocket {
		config.WatchTransport = transport.WatchWebSocket
	}
	client, err := transport.NewClient(config)
	if err != nil {
		return err
	}
	defer client.Close()
	configMaps, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*configMap]{})
	if err != nil {
		return err
	}
	var options informer.Options[*configMap] // its log goes to stderr
	if verify > 0 {
		metadata, err := configMaps.Metadata()
		if err != nil {
			return err
		}
		options.Reflector.Verify = reflector.VerifyOptions{Interval: verify, Metadata: metadata}
	}
	cache := informer.New(configMaps, options)
	ended := make(chan error, 1)
	go func() {
		err := cache.Run(ctx)
		if ctx.Err() == nil {
			fmt.Println("stopped", err)
		}
		ended <- err
	}()
	printed := digest.Print(ctx, os.Stdout, func() []digest.Object {
		var held []digest.Object
		for _, c := range cache.Store().All() {
			held = append(held, digest.Object{Namespace: c.Namespace, Name: c.Name, Data: c.Data})
		}
		return held
	})
	return errors.Join(printed, <-ended)
}
