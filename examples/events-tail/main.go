// Events-tail prints the Events of a cluster as they come, like kubectl events -A -w.
//
// It needs no copy of them, so its reflector writes to a sink that prints, and remembers versions
// alone.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// Event has the fields of an Event that a line shows.
type Event struct {
	metav1.ObjectMeta `json:"metadata"`

	Type           string           `json:"type"`
	Reason         string           `json:"reason"`
	Message        string           `json:"message"`
	LastTimestamp  metav1.Time      `json:"lastTimestamp"`
	EventTime      metav1.MicroTime `json:"eventTime"` // of those who write events.k8s.io
	InvolvedObject struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"involvedObject"`
}

func (e *Event) last() time.Time {
	if e.LastTimestamp.IsZero() {
		return e.EventTime.Time
	}
	return e.LastTimestamp.Time
}

// tail is a reflector.Sink. It has printed each Event at the version that stands under its key.
type tail struct {
	out     io.Writer
	printed map[string]string
}

// Apply prints an Event that is new.
func (t *tail) Apply(c reflector.Change[*Event]) error {
	switch c.Op {
	case protocol.Add, protocol.Update:
		return t.print(c.Object)
	case protocol.Delete:
		delete(t.printed, c.Meta.Key) // it is an hour old
	default: // a sink that is no Holder is told of nothing else, unless Options.Resync is set
	}
	return nil
}

func (t *tail) print(e *Event) error {
	if key := object.Key(e); t.printed[key] != e.ResourceVersion {
		t.printed[key] = e.ResourceVersion
		_, err := fmt.Fprintf(t.out, "%s  %-10s %-8s %-18s %s/%s: %s\n", e.last().UTC().Format(time.DateTime),
			e.Namespace, e.Type, e.Reason, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message)
		return err
	}
	return nil
}

// BeginList returns what takes a list.
func (t *tail) BeginList(bool) reflector.Replacement[*Event] { return &list{tail: t} }

// At is called when everything up to a version has been printed.
func (t *tail) At(string, func() reflector.Point) {}

// list is a list that is arriving.
type list struct {
	*tail
	events []*Event
}

func (l *list) Part(events []*Event, _ []object.Meta) error {
	l.events = append(l.events, events...)
	return nil
}

// End prints the Events of the list that are new, the oldest first.
func (l *list) End(_ string, _ []string, keepAll bool) error {
	slices.SortStableFunc(l.events, func(a, b *Event) int { return cmp.Or(a.last().Compare(b.last()), cmp.Compare(a.Name, b.Name)) })
	before := l.printed
	if !keepAll {
		l.printed = make(map[string]string, len(l.events))
	}
	for _, e := range l.events {
		if version, ok := before[object.Key(e)]; ok {
			l.printed[object.Key(e)] = version
		}
		if err := l.print(e); err != nil {
			return err
		}
	}
	return nil
}

func (*list) Drop() {}

func run(ctx context.Context, config transport.Config, out io.Writer) error {
	client, err := transport.NewClient(config)
	if err != nil {
		return err
	}
	defer client.Close()
	events, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "events"}, listwatch.Options[*Event]{})
	if err != nil {
		return err
	}
	//nolint:contextcheck // a line of the log is no part of a request
	return reflector.New(events, &tail{out: out, printed: map[string]string{}}, reflector.Options{Trace: reflector.LogTrace(slog.Default())}).Run(ctx)
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
