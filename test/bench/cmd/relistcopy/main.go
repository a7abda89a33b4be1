// Command relistcopy copies Pods into a database with relist, for the cases of package cases that have a database.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/postgres"
	"github.com/relist-go/relist/durable/sqlite"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/test/bench/cases"
	"github.com/relist-go/relist/test/bench/objects"
	"github.com/relist-go/relist/transport"
)

func main() { cases.MainOfCopier("relist", connect) }

type copier struct {
	transport *transport.Client
	access    cases.Access
	spec      cases.Case
}

func connect(access cases.Access, c cases.Case) (cases.Copier, error) {
	config := transport.Config{Server: access.URL}
	if access.Kubeconfig != "" {
		var err error
		if config, err = transport.LoadKubeconfig(transport.KubeconfigOptions{Path: access.Kubeconfig}); err != nil {
			return nil, err
		}
	}
	client, err := transport.NewClient(config)
	return copier{client, access, c}, err
}

// Start implements cases.Copier.
func (c copier) Start(ctx context.Context, ledger *cases.Ledger) (cases.Copying, error) {
	check := sqlite.Check
	if c.spec.Database == cases.Postgres {
		check = postgres.Check
	}
	if c.spec.Spec.Object == cases.Raw {
		opts := listwatch.Options[*listwatch.Raw]{
			Transform: func(pod *listwatch.Raw) (*listwatch.Raw, error) { return pod, check(pod.Bytes()) },
		}
		return start(ctx, c, ledger, opts, func(pod *listwatch.Raw) ([]byte, error) {
			ledger.Wrote(sentAt(pod.Bytes()))
			return pod.MarshalJSON()
		})
	}
	opts := listwatch.Options[*corev1.Pod]{Encoding: listwatch.Protobuf}
	if c.spec.Database == cases.Postgres {
		// A string of a typed Pod may have \u0000. Everything that SQLite refuses cannot be in a typed Pod.
		opts.Transform = func(pod *corev1.Pod) (*corev1.Pod, error) {
			object, err := encodePod(pod)
			if err == nil {
				err = check(object)
			}
			return pod, err
		}
	}
	return start(ctx, c, ledger, opts, func(pod *corev1.Pod) ([]byte, error) {
		sent, _ := strconv.ParseInt(pod.Annotations[objects.SentAnnotation], 10, 64) // 0 if the Pod has no such annotation
		ledger.Wrote(sent)
		return encodePod(pod)
	})
}

// encodePod returns the JSON of a Pod with its kind and apiVersion, which the items of a list do not have.
func encodePod(pod *corev1.Pod) ([]byte, error) {
	object := *pod
	object.Kind, object.APIVersion = "Pod", "v1"
	return json.Marshal(&object)
}

// start starts a mirror of objects of one type.
func start[T object.Object](ctx context.Context, c copier, ledger *cases.Ledger, opts listwatch.Options[T], encode func(T) ([]byte, error)) (cases.Copying, error) {
	pods := schema.GroupVersionResource{Version: "v1", Resource: c.spec.Spec.Resource}
	var (
		to      durable.Copy[T]
		closeDB func() error
	)
	if c.spec.Database == cases.Postgres {
		db, err := postgres.Open(ctx, c.access.Database, postgres.Options{})
		if err != nil {
			return nil, err
		}
		if to, err = postgres.New(db, postgres.Table{Resource: pods}, encode); err != nil {
			return nil, err
		}
		closeDB = db.Close
	} else {
		db, err := sqlite.Open(c.access.Database, sqlite.Options{}) //nolint:contextcheck // it has no context
		if err != nil {
			return nil, err
		}
		if to, err = sqlite.New(db, sqlite.Table{Resource: pods}, encode); err != nil {
			return nil, err
		}
		closeDB = db.Close
	}
	opts.Drop = []string{"metadata.managedFields"}
	resource, err := listwatch.New(c.transport, pods, opts)
	if err != nil {
		return nil, err
	}
	mirror, err := durable.New(resource, to, durable.Options{
		Stream: durable.StreamOf("bench", pods, opts, ""),
		Logger: slog.New(slog.DiscardHandler),
		Trace: &durable.Trace{
			Commit: func(c durable.Commit) { ledger.Committed(cases.Version(c.Point.Version), c.Changes) },
			Failed: func(f durable.Failed) { fmt.Fprintln(os.Stderr, "relistcopy:", f.Err) },
		},
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &running[T]{mirror: mirror, cancel: cancel, ended: make(chan struct{}), close: closeDB}
	go func() {
		err := mirror.Run(ctx)
		if ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "relistcopy: the mirror ended:", err)
			os.Exit(1)
		}
		close(r.ended)
	}()
	return r, nil
}

// sentAt returns the time at which the server changed an object, which an annotation has. It is 0 if the object was never changed.
func sentAt(object []byte) int64 {
	_, rest, _ := bytes.Cut(object, []byte(`"`+objects.SentAnnotation+`":"`))
	text, _, _ := bytes.Cut(rest, []byte(`"`))
	sent, _ := strconv.ParseInt(string(text), 10, 64) // 0 if the Pod has no such annotation
	return sent
}

// running is a mirror that was started.
type running[T object.Object] struct {
	mirror *durable.Mirror[T]
	cancel context.CancelFunc
	ended  chan struct{}
	close  func() error
}

func (r *running[T]) Ready() bool {
	s := r.mirror.Status()
	return s.Committed.Point.Version != "" && s.Reflector.State == reflector.Watching
}

func (r *running[T]) Version() uint64 {
	return cases.Version(r.mirror.Status().Committed.Point.Version)
}

func (r *running[T]) Stop() error {
	r.cancel()
	<-r.ended
	return r.close()
}
