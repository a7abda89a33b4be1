package reflector_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// A stalled server must not hold a list for ever; a slow one that sends may take its
// time.
func TestListThatBringsNothingIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var done, waits []string
		var lists counter
		r := overHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			lists.add()
			w.Header().Set("Content-Type", "application/json")
			for range 3 {
				_, _ = fmt.Fprint(w, " ")
				w.(http.Flusher).Flush()
				select {
				case <-time.After(time.Minute):
				case <-req.Context().Done():
				}
			}
			<-req.Context().Done()
		}), reflector.Options{Trace: &reflector.Trace{
			ListDone: func(e reflector.ListDone) { done = append(done, fmt.Sprint(e.Err)) },
			Backoff:  func(e reflector.Backoff) { waits = append(waits, e.Reason.String()) },
		}})
		begin := time.Now()
		stop := running(t, r)
		later(2*time.Minute + 119*time.Second) // the last byte came after 2 minutes
		if n := lists.count(); n != 1 {
			t.Fatalf("%d lists, want the first to be waited for", n)
		}
		later(2 * time.Second)
		if lists.count() != 2 || strings.Join(waits, " ") != "silent" || len(done) != 1 || !strings.Contains(done[0], "nothing came") {
			t.Errorf("%d lists, ended with %q, waits for %q; want a second list after the first was silent", lists.count(), done, waits)
		}
		if status := r.Status(); !status.FailingSince.Equal(begin.Add(4*time.Minute)) || !strings.Contains(fmt.Sprint(status.LastError), "nothing came") {
			t.Errorf("status is %+v, want a failure", status)
		}
		stop()
	})
}

// An ask that hangs is given up like any request, and holds up no other repair for longer
// than that.
func TestAskThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newScripted()
		server.list = func(metav1.ListOptions) (*listwatch.Page[partial], error) {
			return pageOf("100", newPartial("x", "u", "90"), newPartial("y", "v", "91")), nil
		}
		server.ask = func(ctx context.Context, name string) (*listwatch.Page[partial], error) {
			if name == "y" {
				return pageOf("102", newPartial("y", "v", "102")), nil
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		sink := store.New(store.Options[partial]{})
		r := reflector.New(server, reflector.InMemory(sink), reflector.Options{Rand: zero})
		running(t, r)
		s := <-server.streams
		s.undecodable(listwatch.Modified, newPartial("x", "u", "101"))
		later(2 * time.Second) // x is asked for
		s.undecodable(listwatch.Modified, newPartial("y", "v", "102"))
		later(30 * time.Second)
		s.bookmark("103") // or the watch would count as silent
		later(30 * time.Second)
		if obj, _ := sink.Get("y"); obj.ResourceVersion != "91" {
			t.Fatalf("y is at %s while x is asked for: two asks at a time", obj.ResourceVersion)
		}
		s.bookmark("104")
		later(70 * time.Second)
		if obj, _ := sink.Get("y"); obj.ResourceVersion != "102" {
			t.Errorf("y is at %s, want 102: the ask of x brings nothing, and is to be given up after 2 minutes", obj.ResourceVersion)
		}
		if q := r.Status().Quarantined; len(q) != 1 || !strings.Contains(q[0].Err.Error(), "nothing came") {
			t.Errorf("in quarantine are %+v, want x, with why it is not repaired", q)
		}
	})
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
func TestAnswersToAsksAreNoSignOfLifeOfAWatch(t *testing.T) {
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
		if len(ends) == 0 || ends[0] != "silent" {
			t.Errorf("within 2 minutes watches ended with %q, want silence first", ends)
		}
	})
}
