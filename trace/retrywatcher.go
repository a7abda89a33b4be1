package trace

import (
	"context"
	"errors"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// retryWatcherOf is a Program that lists once, and then reads a [source.RetryWatcher]
// from the list's version on. Its entries are events. The objects of the
// list do not become entries: the list gives only the version to watch from.
//
// It returns an error for an option of the start line, because the list and the
// watch are those of ConfigMaps as they come, in JSON over HTTP/1.1.
func retryWatcherOf(retry source.RetryOptions) Program {
	return func(env Env) (Client, error) {
		if env.Options != (Options{}) || env.Path != configMaps.path {
			return nil, errors.New("the retrying watcher takes no options on the start line")
		}
		client, err := transport.NewClient(transport.Config{
			Server:   env.Server,
			Dial:     env.Dial,
			Protocol: transport.ProtocolHTTP1,
		})
		if err != nil {
			return nil, err
		}
		lw, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
			listwatch.Options[*configMap]{Namespace: "default"})
		if err != nil {
			return nil, err
		}
		retry := retry
		retry.Rand = env.Rand
		return &retryWatcher{env: env, client: client, lw: lw, retry: retry, held: map[string]string{}}, nil
	}
}

type retryWatcher struct {
	env    Env
	client *transport.Client
	lw     source.ListWatcher[*configMap]
	retry  source.RetryOptions

	mu      sync.Mutex
	entries []string
	held    map[string]string // versions by key
}

func (w *retryWatcher) Run(ctx context.Context) error {
	page, err := w.lw.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	w.start(page.Items)
	events, err := source.NewRetryWatcher(ctx, w.lw, metav1.ListOptions{ResourceVersion: page.ResourceVersion}, w.retry)
	if err != nil {
		return err
	}
	for {
		event, err := events.Next()
		if err != nil {
			if ctx.Err() == nil {
				w.env.Problem("watch", "", err)
			}
			return err
		}
		w.take(event)
	}
}

func (w *retryWatcher) start(items []*configMap) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, item := range items {
		w.held[item.Namespace+"/"+item.Name] = item.ResourceVersion
	}
}

func (w *retryWatcher) take(event source.Event[*configMap]) {
	if event.Err != nil {
		w.env.Problem("object", event.Meta.Key, event.Err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	entry := event.Type.String() + "@" + event.Meta.ResourceVersion
	switch event.Type {
	case object.Added, object.Modified:
		w.held[event.Meta.Key] = event.Meta.ResourceVersion
	case object.Deleted:
		delete(w.held, event.Meta.Key)
	case object.Bookmark: // has no key
		w.entries = append(w.entries, entry)
		return
	}
	w.entries = append(w.entries, event.Meta.Key+" "+entry)
}

func (w *retryWatcher) Pop() (entry string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.entries) == 0 {
		return "", false
	}
	entry, w.entries = w.entries[0], w.entries[1:]
	return entry, true
}

func (w *retryWatcher) Store() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return inWords(w.held)
}

// Synced returns false: the program cannot say when the first list has been taken.
func (*retryWatcher) Synced() bool { return false }

func (w *retryWatcher) Close() { w.client.Close() }
