package durable

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// ClusterUID returns what identifies a cluster for as long as it exists: the UID of its namespace
// kube-system. The URL of a server does not identify a cluster, because inside of a cluster it is
// the same everywhere. The program needs the right to get that namespace; without it, give the
// cluster a name of your own.
func ClusterUID(ctx context.Context, client *transport.Client) (string, error) {
	namespaces, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, listwatch.Options[*metav1.PartialObjectMetadata]{})
	if err != nil {
		return "", err
	}
	_, meta, err := namespaces.Get(ctx, metav1.NamespaceSystem)
	if err != nil {
		return "", fmt.Errorf("identify the cluster by its namespace %s: %w", metav1.NamespaceSystem, err)
	}
	if meta.UID == "" {
		return "", fmt.Errorf("identify the cluster: its namespace %s has no UID", metav1.NamespaceSystem)
	}
	return string(meta.UID), nil
}

// StreamOf returns the [Stream] of the resource that listwatch.New makes of the same arguments.
// shape says what else decides how an object becomes a row, see [Stream.Shape].
func StreamOf[T object.Object](cluster string, gvr schema.GroupVersionResource, opts listwatch.Options[T], shape string) Stream {
	drop := slices.Compact(slices.Sorted(slices.Values(opts.Drop)))
	return Stream{
		Cluster: cluster, Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource,
		Namespace: opts.Namespace, LabelSelector: opts.LabelSelector, FieldSelector: opts.FieldSelector,
		ShardSelector: opts.ShardSelector,
		Shape:         strings.Join(append([]string{shape}, drop...), "\n"),
	}
}

func (s Stream) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: s.Group, Resource: s.Resource}
}

// logger returns a logger whose lines have the attributes that those of a reflector have.
func (s Stream) logger(logger *slog.Logger) *slog.Logger {
	logger = logger.With("resource", s.groupResource().String())
	if s.Namespace != "" {
		logger = logger.With("namespace", s.Namespace)
	}
	return logger
}

// String names the resource as errors do: "deployments.apps in shop".
func (s Stream) String() string {
	text := s.groupResource().String()
	if s.Namespace != "" {
		text += " in " + s.Namespace
	}
	return text
}

// MismatchError says that a copy is of something else, so that it must not be written to.
type MismatchError struct {
	Has, Wanted Stream
}

func (e *MismatchError) Error() string {
	if e.Has.Cluster != e.Wanted.Cluster {
		return fmt.Sprintf("the copy of %s is of the cluster %s, and this is the cluster %s: use another copy, or delete this one",
			e.Has, e.Has.Cluster, e.Wanted.Cluster)
	}
	return fmt.Sprintf("the copy is of %s, and not of %s: use another copy", e.Has, e.Wanted)
}

// moveTo makes p the point. keptAll says that a list has just kept what it lacks.
func (s *State) moveTo(p reflector.Point, keptAll bool) {
	s.Point = p
	s.Reshaped = s.Reshaped && (keptAll || p.Version == "" || len(p.Unsure)+p.MoreUnsure > 0)
}

// reshaped reports whether the row of a key may be of another shape.
func (s *State) reshaped(key string) bool {
	return s.Reshaped && (s.Point.Version == "" || s.Point.MoreUnsure > 0 || slices.Contains(s.Point.Unsure, key))
}

// openedFor returns the state as it is once a writer has opened the copy for a stream. If the rows
// were written for another namespace, other selectors, another version of the API or another shape,
// the version becomes empty, so that everything is listed. If the rows are of another cluster or
// resource, openedFor returns a [*MismatchError].
func (s State) openedFor(stream Stream, by *claim) (State, error) {
	next := s
	next.Epoch++
	next.Claim, next.Writer = by.number, by.writer
	next.Stream = stream
	if s.Epoch == 0 {
		return next, nil
	}
	has := s.Stream
	if has.Cluster != stream.Cluster || has.Group != stream.Group || has.Resource != stream.Resource {
		return State{}, &MismatchError{Has: has, Wanted: stream}
	}
	if has.Namespace != stream.Namespace || has.LabelSelector != stream.LabelSelector || has.FieldSelector != stream.FieldSelector ||
		has.ShardSelector != stream.ShardSelector {
		next.Unselected = true
	}
	if has.Version != stream.Version || has.Shape != stream.Shape {
		next.Reshaped = true
	}
	if next.Unselected || has.Version != stream.Version || has.Shape != stream.Shape {
		next.Point = reflector.Point{}
	}
	return next, nil
}
