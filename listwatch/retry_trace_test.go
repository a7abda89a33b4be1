package listwatch_test

import (
	"context"
	"flag"
	"os"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/trace"
	"github.com/relist-go/relist/transport"
)

var _ = flag.Bool("update", false, "rewrite the observed lines of traces")

// The traces of a RetryWatcher begin with a list, as its users do. The list gives
// the version to watch from; its objects do not become entries.
func TestTraceRetryWatcher(t *testing.T) {
	trace.Run(t, os.DirFS("../testdata/retrywatcher"), watching(listwatch.RetryOptions{}))
}

func TestTraceRetryWatcherBookmarks(t *testing.T) {
	trace.Run(t, os.DirFS("../testdata/retrywatcher/bookmarks"), watching(listwatch.RetryOptions{Bookmarks: true}))
}

// watching is a trace.Program that lists once and then reads a RetryWatcher from
// the list's version. Its entries are events.
func watching(retry listwatch.RetryOptions) trace.Program {
	retry.Rand = func() float64 { return 0 }
	return func(env trace.Env) (trace.Client, error) {
		client, err := transport.NewClient(transport.Config{
			Server:   env.Server,
			Dial:     env.Dial,
			Protocol: transport.ProtocolHTTP1,
		})
		if err != nil {
			return nil, err
		}
		lw, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
			listwatch.Options[*object]{Namespace: "default"})
		if err != nil {
			return nil, err
		}
		return &watcher{env: env, client: client, lw: lw, retry: retry, held: map[string]string{}}, nil
	}
}

// object has the members of a ConfigMap that these traces use.
type object struct {
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data"`
}

type watcher struct {
	env    trace.Env
	client *transport.Client
	lw     listwatch.ListWatcher[*object]
	retry  listwatch.RetryOptions

	mu      sync.Mutex
	entries []string
	held    map[string]string // versions by key
}

func (w *watcher) Run(ctx context.Context) error {
	page, err := w.lw.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	w.start(page.Items)
	events, err := listwatch.NewRetryWatcher(ctx, w.lw, metav1.ListOptions{ResourceVersion: page.ResourceVersion}, w.retry)
	if err != nil {
		return err
	}
	for {
		event, err := events.Next()
		if err != nil {
			if ctx.Err() == nil {
				w.env.Problem("watch", "")
			}
			return err
		}
		w.take(event)
	}
}

func (w *watcher) start(items []*object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, item := range items {
		w.held[item.Namespace+"/"+item.Name] = item.ResourceVersion
	}
}

func (w *watcher) take(event listwatch.Event[*object]) {
	if event.Err != nil {
		w.env.Problem("object", event.Meta.Key)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	entry := event.Type.String() + "@" + event.Meta.ResourceVersion
	switch event.Type {
	case listwatch.Added, listwatch.Modified:
		w.held[event.Meta.Key] = event.Meta.ResourceVersion
	case listwatch.Deleted:
		delete(w.held, event.Meta.Key)
	case listwatch.Bookmark: // has no key
		w.entries = append(w.entries, entry)
		return
	}
	w.entries = append(w.entries, event.Meta.Key+" "+entry)
}

func (w *watcher) Pop() (entry string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.entries) == 0 {
		return "", false
	}
	entry, w.entries = w.entries[0], w.entries[1:]
	return entry, true
}

func (w *watcher) Store() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []string
	for key, version := range w.held {
		lines = append(lines, key+"@"+version)
	}
	slices.Sort(lines)
	return lines
}

func (w *watcher) Synced() bool { return false } // there is nothing to say it of
func (w *watcher) Close()       { w.client.Close() }
