package informer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// The code of docs/from-client-go.md; TestFromClientGo compares.

// addresses is a Sink that keeps one string of each Pod, and no Pod.
type addresses map[string]string

func (a addresses) Add(pod *Pod) error    { a[object.Key(pod)] = pod.Status.PodIP; return nil }
func (a addresses) Update(pod *Pod) error { return a.Add(pod) }
func (a addresses) Delete(pod *Pod) error { delete(a, object.Key(pod)); return nil }
func (a addresses) Resync() error         { return nil }

// Replace gets the whole state: what it lacks is gone, or could not be decoded.
func (a addresses) Replace(pods []*Pod, _ string) error {
	clear(a)
	for _, pod := range pods {
		_ = a.Add(pod) // it never fails
	}
	fmt.Println(len(a), "addresses")
	return nil
}

// A list without pages, and then a watch: what ListPager and RetryWatcher are for.
func listAndWatch(ctx context.Context, pods *listwatch.Resource[*Pod]) error {
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
		if event.Err == nil && event.Type != listwatch.Bookmark {
			fmt.Println(event.Type, event.Meta.Key)
		}
	}
}

// One server, and what the page does with it.
func TestFromClientGoRuns(t *testing.T) {
	server, url := apitest.Start(t, apitest.Options{})
	createPods(t, server, 0, 3)
	client, err := transport.NewClient(transport.Config{Server: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	pods, err := listwatch.New(client, podResource, listwatch.Options[*Pod]{})
	if err != nil {
		t.Fatal(err)
	}

	// A sink of one's own.
	ctx, stop := context.WithCancel(t.Context())
	sink := addresses{}
	r := reflector.New[*Pod](pods, sink, reflector.Options{Trace: &reflector.Trace{ListDone: func(reflector.ListDone) { stop() }}})
	if err := r.Run(ctx); err != context.Canceled || len(sink) > 3 { //nolint:errorlint // it is this one
		t.Errorf("%v, %v", err, sink)
	}
	if err := sink.Replace([]*Pod{{}}, "7"); err != nil || len(sink) != 1 {
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

// Every block of Go in the page is a part of this file, and every name of relist that the page gives is there.
func TestFromClientGo(t *testing.T) {
	text, code := read(t, "../docs/from-client-go.md"), flush(read(t, "fromclientgo_page_test.go"))
	blocks := strings.Split(text, "```go\n")[1:]
	if len(blocks) < 2 {
		t.Errorf("found %d blocks of Go", len(blocks))
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		if !strings.Contains(code, flush(block)) {
			t.Errorf("this is in docs/from-client-go.md and not compiled:\n%s", block)
		}
	}
	for _, option := range []string{"Logger", "Fatal", "Verify", "MaxConcurrentGets", "ShareParts", "Drop", "MetadataOnly", "ShardSelector", "Coalesce", "WatchTransport", "MinWatchTimeout"} {
		if !slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }), option) {
			t.Errorf("the table of situations does not name %s", option)
		}
	}
}
