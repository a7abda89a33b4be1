//go:build darwin || linux

// Sink mirrors the ConfigMaps of a cluster into a file, and prints each commit. If it is started
// again, or killed and started again, it continues where the file is. Its copy.go shows how a
// program keeps a copy in a place of its own.
//
//	cd durable
//	go run ./examples/sink configmaps.json
//
// It uses your kubeconfig, and ends with SIGINT or SIGTERM.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/transport"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: sink FILE")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	config, err := transport.LoadKubeconfig(transport.KubeconfigOptions{})
	if err == nil {
		err = run(ctx, config, os.Args[1], os.Stdout)
	}
	stop()
	if !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

// run mirrors into a file until ctx ends.
func run(ctx context.Context, config transport.Config, file string, out io.Writer) error {
	client, err := transport.NewClient(config)
	if err != nil {
		return err
	}
	defer client.Close()
	identify := func(ctx context.Context) (string, error) { return durable.ClusterUID(ctx, client) }
	cluster, err := identify(ctx)
	if err != nil {
		return err
	}
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	opts := listwatch.Options[*listwatch.Raw]{Drop: []string{"metadata.managedFields"}}
	configMaps, err := listwatch.New(client, gvr, opts)
	if err != nil {
		return err
	}
	to := NewCopy[*listwatch.Raw](file)
	defer func() { _ = to.Close() }() // what is committed is on the disk
	mirror, err := durable.New(configMaps, to, durable.Options{
		Identify: identify,                                  // another cluster may come under the same address
		Stream:   durable.StreamOf(cluster, gvr, opts, "1"), // of another shape would be, for example, rows with a column for the labels
		Trace: &durable.Trace{
			Commit: func(c durable.Commit) {
				_, _ = fmt.Fprintf(out, "version %s: %d changes\n", c.Point.Version, c.Changes)
			},
		},
	})
	if err != nil {
		return err
	}
	return mirror.Run(ctx)
}
