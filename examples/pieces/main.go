// Pieces puts together by hand what an informer is made of: a reflector, a queue and a store. It
// prints every delta of the ConfigMaps of a cluster. docs/reading.md leads through the packages
// that it imports.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// ConfigMap has the members that this program needs. An object is its metadata, and whatever else a
// program wants of it.
type ConfigMap struct {
	metav1.ObjectMeta `json:"metadata"`
}

func run(ctx context.Context, config transport.Config, out io.Writer) error {
	// The server's side: connections, and one resource.
	client, err := transport.NewClient(config)
	if err != nil {
		return err
	}
	defer client.Close()
	configMaps, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*ConfigMap]{})
	if err != nil {
		return err
	}

	// The consumer's side: what is held, and a queue of the changes that lead there.
	held := store.New(store.Options[*ConfigMap]{})
	queue := deltafifo.New(deltafifo.Options[*ConfigMap]{Known: held})

	// The reflector is between them. It keeps the machine of package protocol going: facts of the
	// server in, changes of the sink out.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	//nolint:contextcheck // a line of the log is no part of a request
	r := reflector.New(configMaps, reflector.InQueue(queue), reflector.Options{Trace: reflector.LogTrace(slog.Default())})
	go func() { ended <- r.Run(ctx) }()
	for err == nil {
		err = queue.Pop(ctx, func(e deltafifo.Entry[*ConfigMap]) error { return process(out, held, e) })
	}
	stop()
	return errors.Join(err, <-ended)
}

// process brings the store up to date with what happened to one object, and prints it.
func process(out io.Writer, held *store.Store[*ConfigMap], e deltafifo.Entry[*ConfigMap]) error {
	for _, d := range e.Deltas {
		apply, note := held.Update, ""
		if d.Type == deltafifo.Deleted {
			apply = held.Delete
		}
		if d.Tombstone != nil {
			note = " (its final state is unknown)"
		}
		if err := apply(d.Object); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%-8s %s at %s%s\n", d.Type, e.Key, d.Object.ResourceVersion, note); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	config, err := transport.LoadKubeconfig(transport.KubeconfigOptions{})
	if err == nil {
		err = run(ctx, config, os.Stdout)
	}
	stop()
	if !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
