// Command cluster runs a real kube-apiserver over etcd on loopback until it is
// interrupted, for trying things by hand. `make cluster` builds what it needs and starts it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/relist-go/relist/test/conformance/cluster"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// flags collects the values of a flag that may be given several times.
type flags []string

func (f *flags) String() string     { return strings.Join(*f, " ") }
func (f *flags) Set(s string) error { *f = append(*f, s); return nil }

func run() (err error) {
	var opts cluster.Options
	flag.StringVar(&opts.Dir, "dir", "", "folder for data, logs and kubeconfig, kept at the end (default a temporary one)")
	flag.Var((*flags)(&opts.APIServerFlags), "apiserver-flag", "flag for kube-apiserver, such as --goaway-chance=0.02; may be given several times")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := cluster.Start(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()

	kubectl, err := cluster.FindProgram("kubectl")
	if err != nil {
		return err
	}
	fmt.Printf(`kube-apiserver is ready at %s

    export KUBECONFIG=%s
    %s get namespaces
    go run ./cmd/relist mirror configmaps -A

The contexts are admin (used unless another is named), admin-cert and powerless.
Interrupt (Ctrl-C) ends it.
`, c.Access().URL, c.Kubeconfig(), kubectl)
	<-ctx.Done()
	return nil
}
