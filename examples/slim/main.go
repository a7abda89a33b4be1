// Slim mirrors the Pods of a cluster into a type of six fields, and prints what changes.
//
//	go run ./examples/slim --namespace default
//	go run ./examples/slim --server http://127.0.0.1:8001    # kubectl proxy
//
// It ends with SIGINT or SIGTERM.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer"
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
		fmt.Fprintln(os.Stderr, "slim:", err)
		os.Exit(1)
	}
}

// run mirrors until ctx ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("slim", flag.ContinueOnError)
	flags.SetOutput(stderr)
	kubeconfig := flags.String("kubeconfig", "", "path of the kubeconfig `file` (default $KUBECONFIG, then ~/.kube/config)")
	server := flags.String("server", "", "`URL` of an API server that wants no credentials; no kubeconfig is read")
	namespace := flags.String("namespace", "", "`name` of the only namespace to mirror (default all)")
	if err := flags.Parse(args); err != nil {
		return err
	}

	client, err := transport.FromKubeconfig(transport.KubeconfigOptions{Path: *kubeconfig, Server: *server})
	if err != nil {
		return err
	}
	defer client.Close()
	resource := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	pods, err := listwatch.New(client, resource, listwatch.Options[*Pod]{Namespace: *namespace})
	if err != nil {
		return err
	}

	cache := informer.New(pods, informer.Options[*Pod]{Logger: slog.New(slog.NewTextHandler(stderr, nil))})
	if _, err := cache.AddHandler(printer(stdout)); err != nil {
		return err
	}
	return cache.Run(ctx)
}

// printer writes a line for each change.
func printer(w io.Writer) informer.Handler[*Pod] {
	line := func(sign string, p *Pod, what string) {
		_, _ = fmt.Fprintf(w, "%s %s/%s %s\n", sign, p.Metadata.Namespace, p.Metadata.Name, what)
	}
	where := func(p *Pod) string {
		if p.Spec.NodeName == "" {
			return p.Status.Phase
		}
		return p.Status.Phase + " on " + p.Spec.NodeName
	}
	return informer.Handler[*Pod]{
		OnAdd: func(p *Pod, _ bool) { line("+", p, where(p)) },
		OnUpdate: func(old, p *Pod) {
			if where(old) != where(p) { // a member that we do not keep has changed
				line("~", p, where(old)+" -> "+where(p))
			}
		},
		OnDelete: func(p *Pod, _ bool) { line("-", p, where(p)) },
	}
}
