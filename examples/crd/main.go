// Crd watches a custom resource by a struct of its own: it says which backups are late.
//
// There is no code generator, no scheme and no client set. The struct has the fields that the
// program uses, and the decoder skips the others.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// Backup is the custom resource. Times, durations and quantities of apimachinery are decoded as
// their CRDs write them.
type Backup struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Every metav1.Duration `json:"every"`
	} `json:"spec"`
	Status struct {
		LastSuccess *metav1.Time `json:"lastSuccess"`
	} `json:"status"`
}

var backups = schema.GroupVersionResource{Group: "shop.example.com", Version: "v1", Resource: "backups"}

// due is when the next success is due.
func (b *Backup) due() time.Time {
	if b.Status.LastSuccess == nil {
		return b.CreationTimestamp.Add(b.Spec.Every.Duration)
	}
	return b.Status.LastSuccess.Add(b.Spec.Every.Duration)
}

// run looks once a minute, until ctx ends, and prints each backup when it becomes late and when it
// is made up for.
func run(ctx context.Context, config transport.Config, out io.Writer) error {
	client, err := transport.NewClient(config)
	if err != nil {
		return err
	}
	defer client.Close()
	list, err := listwatch.New(client, backups, listwatch.Options[*Backup]{})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	cache := informer.New(list, informer.Options[*Backup]{
		Reflector: reflector.Options{Fatal: apierrors.IsNotFound}, // the CRD is not installed
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		stop(cache.Run(ctx))
	}()
	defer func() {
		stop(nil)
		<-ended
	}()
	if cache.WaitForSync(ctx) != nil {
		<-ended
		return context.Cause(ctx) // what Run returned says more
	}
	late := map[string]bool{}
	minutes := time.NewTicker(time.Minute)
	defer minutes.Stop()
	for {
		look(cache.Store(), late, out)
		select {
		case <-minutes.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// look compares every backup with the clock.
func look(store informer.Reader[*Backup], late map[string]bool, out io.Writer) {
	known := make(map[string]bool, len(late))
	for key, b := range store.All() {
		known[key] = true
		switch isLate := time.Now().After(b.due()); {
		case isLate && !late[key]:
			_, _ = fmt.Fprintln(out, key, "is late: due at", b.due().UTC().Format(time.TimeOnly))
			late[key] = true
		case !isLate && late[key]:
			_, _ = fmt.Fprintln(out, key, "is made up for")
			delete(late, key)
		}
	}
	for key := range late { // in any order: each is only forgotten
		if !known[key] {
			delete(late, key)
		}
	}
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
