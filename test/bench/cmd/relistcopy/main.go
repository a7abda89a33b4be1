// Command relistcopy copies Pods into a database with relist, for the cases of package cases that
// have a database.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/sqlite"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/test/bench/cases"
	"github.com/relist-go/relist/test/bench/objects"
	"github.com/relist-go/relist/transport"
)

func main() { cases.MainOfCopier("relist", connect) }

type copier struct {
	transport *transport.Client
	access    cases.Access
}

func connect(access cases.Access, _ cases.Case) (cases.Copier, error) {
	client, err := transport.NewClient(transport.Config{Server: access.URL})
	return copier{client, access}, err
}

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// Start implements cases.Copier.
func (c copier) Start(ctx context.Context, ledger *cases.Ledger) (cases.Copying, error) {
	db, err := sqlite.Open(c.access.Database, sqlite.Options{}) //nolint:contextcheck // it has no context
	if err != nil {
		return nil, err
	}
	to, err := sqlite.New(db, durable.Table{Resource: pods}, func(pod *listwatch.Raw) ([]byte, error) {
		ledger.Wrote(sentAt(pod.Bytes()))
		return pod.MarshalJSON()
	})
	if err != nil {
		return nil, err
	}
	opts := listwatch.Options[*listwatch.Raw]{
		Drop:      []string{"metadata.managedFields"},
		Transform: func(pod *listwatch.Raw) (*listwatch.Raw, error) { return pod, sqlite.Check(pod.Bytes()) },
	}
	resource, err := listwatch.New(c.transport, pods, opts)
	if err != nil {
		return nil, err
	}
	mirror, err := durable.New(resource, to, durable.Options{
		Stream: durable.StreamOf("bench", pods, opts, ""),
		Logger: slog.New(slog.DiscardHandler),
		Trace: &durable.Trace{
			Commit: func(c durable.Commit) { ledger.Committed(cases.Version(c.Point.Version), c.Changes) },
			Failed: func(f durable.Failure) { fmt.Fprintln(os.Stderr, "relistcopy:", f.Err) },
		},
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &running{mirror: mirror, cancel: cancel, ended: make(chan struct{}), close: db.Close}
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

// sentAt returns the time at which the server changed an object, which an annotation has. It is 0
// if the object was never changed.
func sentAt(object []byte) int64 {
	_, rest, _ := bytes.Cut(object, []byte(`"`+objects.SentAnnotation+`":"`))
	text, _, _ := bytes.Cut(rest, []byte(`"`))
	sent, _ := strconv.ParseInt(string(text), 10, 64) // 0 if the Pod has no such annotation
	return sent
}

// running is a mirror that was started.
type running struct {
	mirror *durable.Mirror[*listwatch.Raw]
	cancel context.CancelFunc
	ended  chan struct{}
	close  func() error
}

func (r *running) Ready() bool {
	s := r.mirror.Status()
	return s.Committed.Point.Version != "" && s.Reflector.State == reflector.Watching
}

func (r *running) Stop() error {
	r.cancel()
	<-r.ended
	return r.close()
}
