package informer_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// The code of docs/migrating.md; TestMigrating compares.

// addresses is a Sink that keeps one string of each Pod, and no Pod.
type addresses map[string]string

func (a addresses) Apply(c reflector.Change[*Pod]) error {
	switch c.Op {
	case protocol.Add, protocol.Update:
		a[c.Meta.Key] = c.Object.Status.PodIP
	case protocol.Delete:
		delete(a, c.Meta.Key)
	default: // a sink that is no Holder is only told of events, and of resyncs if Options.Resync is set
	}
	return nil
}

func (a addresses) BeginList(bool) reflector.Replacement[*Pod] { return listed{a, addresses{}} }

func (a addresses) At(string, func() reflector.Point) {}

// listed is a list while it arrives.
type listed struct{ old, new addresses }

func (l listed) Part(pods []*Pod, metas []object.Meta) error {
	for i, pod := range pods {
		l.new[metas[i].Key] = pod.Status.PodIP
	}
	return nil
}

// End has the whole state: what the list lacks is gone, or could not be decoded.
func (l listed) End(_ string, _ []string, keepAll bool) error {
	if !keepAll {
		clear(l.old)
	}
	maps.Copy(l.old, l.new)
	fmt.Println(len(l.old), "addresses")
	return nil
}

func (l listed) Drop() {}

// A list without pages, and then a watch: what ListPager and RetryWatcher are for.
func listAndWatch(ctx context.Context, pods *listwatch.Client[*Pod]) error {
	list, err := source.All(ctx, pods, metav1.ListOptions{Limit: 500})
	if err != nil {
		return err
	}
	fmt.Println(len(list.Items), "Pods")
	events, err := source.NewRetryWatcher(ctx, pods, metav1.ListOptions{ResourceVersion: list.ResourceVersion}, source.RetryOptions{})
	if err != nil {
		return err
	}
	defer events.Close()
	for {
		event, err := events.Next()
		if err != nil {
			return err // 410: list again
		}
		if event.Err == nil && event.Type != object.Bookmark {
			fmt.Println(event.Type, event.Meta.Key)
		}
	}
}

// One server, and what the page does with it.
func TestMigratingRuns(t *testing.T) {
	server, url := apitest.Start(t, apitest.Options{})
	createPods(t, server, 0, 3)
	client, err := transport.NewClient(transport.Config{Server: url})
	must.OK(t, err)
	t.Cleanup(client.Close)
	pods, err := listwatch.New(client, podResource, listwatch.Options[*Pod]{})
	must.OK(t, err)

	// A sink of one's own.
	ctx, stop := context.WithCancel(t.Context())
	sink := addresses{}
	r := reflector.New[*Pod](pods, sink, reflector.Options{Trace: &reflector.Trace{ListDone: func(reflector.ListDone) { stop() }}})
	if err := r.Run(ctx); err != context.Canceled || len(sink) > 3 { //nolint:errorlint // it is this one
		t.Errorf("%v, %v", err, sink)
	}
	if err := sink.BeginList(false).End("7", nil, false); err != nil || len(sink) != 0 {
		t.Errorf("%v, %v", err, sink)
	}

	// A list and a watch without a reflector.
	ctx, stop = context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- listAndWatch(ctx, pods) }()
	stop()
	if err := <-ended; err == nil {
		t.Error("listAndWatch ended without an error")
	}
}

// Every block of Go in the page is a part of this file, and every name of relist that the page
// gives is there.
func TestMigrating(t *testing.T) {
	text, code := read(t, "../docs/migrating.md"), flush(read(t, "migrating_test.go"))
	blocks := strings.Split(text, "```go\n")[1:]
	if len(blocks) < 2 {
		t.Errorf("found %d blocks of Go", len(blocks))
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		if !strings.Contains(code, flush(block)) {
			t.Errorf("this is in docs/migrating.md and not compiled:\n%s", block)
		}
	}
	for _, option := range []string{"Logger", "Fatal", "Verify", "MaxConcurrentGets", "ShareParts", "Drop", "MetadataOnly", "ShardSelector", "Coalesce", "WatchTransport", "MinWatchTimeout"} {
		if !slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }), option) {
			t.Errorf("the table of situations does not name %s", option)
		}
	}
}
