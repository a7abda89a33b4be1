package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/internal/cli/connect"
	"github.com/relist-go/relist/cmd/relist-sql/internal/database"
	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/discovery"
)

// target is a resource that is mirrored.
type target struct {
	found     *discovery.Resource
	asked     string // the name on the command line
	label     string // for lines: deployments.apps
	namespace string
	table     string
	columns   []string

	source *listwatch.Client[*listwatch.Raw]
	stream durable.Stream
	copy   database.Copy
	mirror *durable.Mirror[*listwatch.Raw]

	commits        atomic.Int64
	commitFailures atomic.Int64
	failing        atomic.Bool // the last call of the copy has failed

	opened  atomic.Bool // a watch was opened, or a list has come
	settled atomic.Bool // a watch that was open has ended cleanly

	// What the server had when the command was started.
	total   int64 // objects; -1 if unknown
	version string
}

// is reports whether a word of the command line means this resource.
func (t *target) is(word string) bool {
	return word == t.asked || word == t.found.Resource || word == t.found.Singular || word == t.label || slices.Contains(t.found.ShortNames, word)
}

// targets finds the resources. Two names of one resource are one target.
func (f *mirrorFlags) targets(ctx context.Context, stderr io.Writer, client *transport.Client, cfg transport.Config, names []string) ([]*target, error) {
	var targets []*target
	for _, name := range names {
		found, namespace, err := f.Find(ctx, stderr, client, cfg, name)
		if err != nil {
			return nil, err
		}
		t := &target{
			found: found, asked: name, label: found.GroupResource().String(), namespace: namespace,
			table: durable.TableName(found.GroupResource()), total: -1,
		}
		same := slices.IndexFunc(targets, func(other *target) bool { return other.table == t.table })
		switch {
		case same < 0:
			targets = append(targets, t)
		case targets[same].label != t.label:
			// Their long names are the same where they are cut.
			return nil, fmt.Errorf("%s and %s would have the same table, %s: mirror them to two databases", targets[same].label, t.label, t.table)
		}
	}
	return targets, f.columnsOf(targets)
}

// prepare makes what reads the resource, and the stream that the copy is of.
func (t *target) prepare(f *mirrorFlags, client *transport.Client, cluster string, check func([]byte) error) error {
	opts := listwatch.Options[*listwatch.Raw]{
		Namespace: t.namespace, LabelSelector: f.Labels, FieldSelector: f.Fields,
		Encoding: listwatch.JSON,
		Drop:     f.drop,
		Transform: func(raw *listwatch.Raw) (*listwatch.Raw, error) {
			return raw, check(raw.Bytes())
		},
	}
	if !f.keepManaged {
		opts.Drop = append(slices.Clone(f.drop), "metadata.managedFields")
	}
	var err error
	if t.source, err = listwatch.New(client, t.found.GroupVersionResource, opts); err != nil {
		return err
	}
	t.stream = durable.StreamOf(cluster, t.found.GroupVersionResource, opts, "json")
	return nil
}

// ask learns how much there is, and at which version, by a list of one object's metadata. It tells
// a bad selector and a missing right before a table is made.
func (t *target) ask(ctx context.Context, cfg transport.Config) error {
	metadata, err := t.source.Metadata()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, cli.StartTimeout)
	defer cancel()
	page, err := metadata.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return connect.Explain(err, cfg.Server, cli.StartTimeout)
	}
	t.version = page.ResourceVersion
	switch {
	case page.Remaining != nil:
		t.total = *page.Remaining + int64(len(page.Items))
	case page.Continue == "":
		t.total = int64(len(page.Items))
	}
	return nil
}

// clusterID identifies the cluster, if it was not named.
func clusterID(ctx context.Context, named string, client *transport.Client, cfg transport.Config) (string, error) {
	if named != "" {
		return named, nil
	}
	ctx, cancel := context.WithTimeout(ctx, cli.StartTimeout)
	defer cancel()
	uid, err := durable.ClusterUID(ctx, client)
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return uid, nil
	case errors.As(err, &status) && (status.Status().Code == http.StatusForbidden || status.Status().Code == http.StatusNotFound):
		return "", fmt.Errorf("%w; allow the verb get on the namespace %s, or name the cluster with --cluster", err, metav1.NamespaceSystem)
	}
	return "", connect.Explain(err, cfg.Server, cli.StartTimeout)
}

// current reports whether the copy is committed, and is what the server had when the command was
// started. That is so if its version is not older; or, for a server that sends no bookmarks and an
// idle resource, if a watch was open to its end.
func (t *target) current() bool {
	s := t.mirror.Status()
	version := s.Committed.Point.Version
	if version == "" || !s.Reflector.Synced || s.Pending > 0 {
		return false
	}
	return version == t.version || object.Older(t.version, version) || t.settled.Load()
}

// With --once, a watch is asked to be short, because a server sends a bookmark 2 seconds before the
// end of a watch: so an idle resource is known to be whole soon. A watch that lived for
// settledAfter has brought what there was when it began.
const (
	onceWatch    = 5 * time.Second
	settledAfter = 4 * time.Second
)

// trace tells what the target wants to know.
func (t *target) trace() *reflector.Trace {
	return &reflector.Trace{
		ListDone: func(l reflector.ListDone) {
			if l.Err == nil {
				t.opened.Store(true)
			}
		},
		WatchOpen: func() { t.opened.Store(true) },
		WatchEnd: func(e reflector.WatchEnd) {
			if e.Reason == protocol.Closed && e.Duration > settledAfter {
				t.settled.Store(true)
			}
		},
	}
}

// Status is that of the reflector, for its metrics.
func (t *target) Status() reflector.Status { return t.mirror.Status().Reflector }

// fatal ends the mirror if the first request is refused for a reason that waiting will not mend.
func (t *target) fatal(err error) bool { return !t.opened.Load() && connect.Hopeless(err) }

// labelWidth is the length of the longest label, or 0 if there is one target only.
func labelWidth(targets []*target) int {
	longest := 0
	for _, t := range targets {
		longest = max(longest, len(t.label))
	}
	if len(targets) == 1 {
		return 0
	}
	return longest
}

// pad is the label of a line: nothing if there is one target only.
func (t *target) pad(width int) string {
	if width == 0 {
		return ""
	}
	return t.label + strings.Repeat(" ", width-len(t.label)+2)
}
