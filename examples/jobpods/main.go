// Jobpods prints snapshots of the Pods of one application, each of one moment of the server: what
// changed in an outage is one step. (A Pod that was requested alone may be newer.) It saves a step
// after that, and begins its next run there. If it is killed in between, the step comes again.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer/checkpoint"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// Pod has the fields of a Pod that the driver needs.
type Pod struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

// snapshots is a reflector.Sink. When At is called, its store has nothing half done.
type snapshots struct {
	reflector.Memory[*Pod]
	at func(point reflector.Point)
}

func (s snapshots) At(_ string, point func() reflector.Point) { s.at(point()) }

// without returns the Pods of one snapshot that another does not have, or not in the same phase.
func without(sign string, s, other *store.Snapshot[*Pod]) (all []string) {
	for key, pod := range s.All() {
		if o, ok := other.Get(key); !ok || o.UID != pod.UID || o.Status != pod.Status {
			all = append(all, sign+key+" "+pod.Status.Phase)
		}
	}
	return all
}

func run(ctx context.Context, config transport.Config, out io.Writer, selector, file string) error {
	client, err := transport.NewClient(config)
	if err != nil {
		return err
	}
	defer client.Close()
	pods, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, listwatch.Options[*Pod]{LabelSelector: selector})
	if err != nil {
		return err
	}
	held, saved := store.New(store.Options[*Pod]{}), checkpoint.File[*Pod](file, checkpoint.Options{})
	copied, start, err := saved.Load(ctx, pods.Origin())
	if err = errors.Join(err, held.Replace(copied, start.Version)); err != nil {
		slog.Warn("the saved Pods are not used", "error", err)
		start = reflector.Point{}
	}
	_, _ = fmt.Fprintln(out, "saved:", held.Keys())
	told, logs := held.Snapshot(), reflector.LogTrace(slog.Default()) //nolint:contextcheck // a line of the log is no part of a request
	sink := snapshots{reflector.InMemory(held), func(point reflector.Point) {
		now := held.Snapshot()
		if changes := append(without("-", told, now), without("+", now, told)...); len(changes) > 0 {
			_, _ = fmt.Fprintln(out, now.Keys(), changes)
		}
		told = now
		if point.Version == "" {
			return // the server may be another one than before: the last copy stays, and this step may come again
		}
		if err := saved.Save(ctx, pods.Origin(), point, slices.Values(now.List())); err != nil {
			slog.Warn("the Pods are not saved", "error", err)
		}
	}}
	return reflector.New(pods, sink, reflector.Options{Start: start, Trace: logs}).Run(ctx)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	config, err := transport.LoadKubeconfig(transport.KubeconfigOptions{})
	if len(os.Args) != 3 {
		err = errors.New("usage: jobpods SELECTOR FILE, such as spark-app-selector=app-1 pods.copy")
	} else if err == nil {
		err = run(ctx, config, os.Stdout, os.Args[1], os.Args[2])
	}
	stop()
	if !errors.Is(err, context.Canceled) {
		log.Fatalln(err)
	}
}
