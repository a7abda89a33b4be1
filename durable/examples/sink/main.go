//go:build darwin || linux

// Sink mirrors the ConfigMaps of a cluster into a file, and prints each commit. If it is started
// again, or killed and started again, it continues where the file is. Its copy.go shows how a
// program keeps a copy in a place of its own.
//
//	cd durable
//	go run ./examples/sink --namespace default configmaps.json
//	go run ./examples/sink --server http://127.0.0.1:8001 configmaps.json    # kubectl proxy
//
// It ends with SIGINT or SIGTERM.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/transport"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, context.Canceled): // a signal
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "sink:", err)
		os.Exit(1)
	}
}

// run mirrors until ctx ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("sink", flag.ContinueOnError)
	flags.SetOutput(stderr)
	kubeconfig := flags.String("kubeconfig", "", "path of the kubeconfig `file` (default $KUBECONFIG, then ~/.kube/config)")
	server := flags.String("server", "", "`URL` of an API server that wants no credentials; no kubeconfig is read")
	namespace := flags.String("namespace", "", "`name` of the only namespace to mirror (default all)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("want one argument, the file of the copy")
	}

	client, err := transport.FromKubeconfig(transport.KubeconfigOptions{Path: *kubeconfig, Server: *server})
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
	opts := listwatch.Options[*listwatch.Raw]{Namespace: *namespace, Drop: []string{"metadata.managedFields"}}
	configMaps, err := listwatch.New(client, gvr, opts)
	if err != nil {
		return err
	}
	to := NewCopy[*listwatch.Raw](flags.Arg(0))
	defer func() { _ = to.Close() }() // what is committed is on the disk
	mirror, err := durable.New(configMaps, to, durable.Options{
		Identify: identify,                                  // another cluster may come under the same address
		Stream:   durable.StreamOf(cluster, gvr, opts, "1"), // of another shape would be, for example, rows with a column for the labels
		Trace: &durable.Trace{
			Commit: func(c durable.Commit) {
				_, _ = fmt.Fprintf(stdout, "version %s: %d changes\n", c.Point.Version, c.Changes)
			},
		},
	})
	if err != nil {
		return err
	}
	return mirror.Run(ctx)
}
