package reflector_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// overHTTP is a reflector of the metadata of ConfigMaps that a handler serves.
func overHTTP(t *testing.T, handler http.Handler, opts reflector.Options) *reflector.Reflector[partial] {
	t.Helper()
	client, err := transport.NewClient(transport.Config{Server: "http://apitest", Dial: inMemory(t, handler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	lw, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[partial]{})
	if err != nil {
		t.Fatal(err)
	}
	opts.Rand = zero
	return reflector.New(lw, reflector.InMemory(store.New(store.Options[partial]{})), opts)
}

// later lets virtual time pass.
func later(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// counter counts on several goroutines.
type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

func (c *counter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// Answers about single objects come over connections of their own. They say nothing of a
// watch that is dead.
func TestAnswersToRefetchesAreNoSignOfLifeOfAWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asks counter
		var mu sync.Mutex
		var opened int
		var ends []string
		r := overHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			query := req.URL.Query()
			switch {
			case query.Get("watch") != "":
				mu.Lock()
				opened++
				first := opened == 1
				mu.Unlock()
				w.(http.Flusher).Flush()
				if first { // events whose objects cannot be decoded, and then nothing
					for i := range 40 {
						_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"b%d","namespace":"n","uid":"u","resourceVersion":"%d","labels":5}}}`+"\n", i, 101+i)
					}
					w.(http.Flusher).Flush()
				}
				<-req.Context().Done()
			case query.Get("fieldSelector") != "":
				asks.add() // the answer is too old to be of use, so the next of the 40 is asked for
				_, _ = fmt.Fprint(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
			default:
				_, _ = fmt.Fprint(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"100"},"items":[]}`)
			}
		}), reflector.Options{MinWatchTimeout: time.Hour, Trace: &reflector.Trace{
			WatchEnd: func(e reflector.WatchEnd) { ends = append(ends, e.Reason.String()) },
		}})
		stop := running(t, r)
		later(2 * time.Minute)
		stop()
		if asks.count() < 10 {
			t.Fatalf("%d asks, want many beside the watch", asks.count())
		}
		if len(ends) == 0 || ends[0] != "idleTimeout" {
			t.Errorf("within 2 minutes watches ended with %q, want idleTimeout first", ends)
		}
	})
}
