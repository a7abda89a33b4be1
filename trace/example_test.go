package trace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/relist-go/relist/trace"
)

// loop is how a watch looks in many a program: net/http, a list, a stream of
// JSON, and from the start again when it ends.
type loop struct {
	env    trace.Env
	client http.Client

	mu      sync.Mutex
	entries []string
	objects map[string]string // versions by key
}

// newLoop is a trace.Program.
func newLoop(env trace.Env) (trace.Client, error) {
	return &loop{
		env:     env,
		client:  http.Client{Transport: &http.Transport{DialContext: env.Dial}},
		objects: map[string]string{},
	}, nil
}

type configMap struct {
	Metadata struct{ Namespace, Name, ResourceVersion string }
}

func (l *loop) Run(ctx context.Context) error {
	for {
		if err := l.once(ctx); err != nil && ctx.Err() == nil {
			l.env.Problem("watch", "", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Second):
		}
	}
}

// once lists, and watches to the end of the stream.
func (l *loop) once(ctx context.Context) error {
	resp, err := l.get(ctx, "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []configMap
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection is used again
	for _, item := range list.Items {
		l.apply("Listed", item)
	}

	resp, err = l.get(ctx, "?resourceVersion="+list.Metadata.ResourceVersion+"&watch=true")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for dec := json.NewDecoder(resp.Body); ; {
		var event struct {
			Type   string
			Object configMap
		}
		if err := dec.Decode(&event); err != nil {
			return nil
		}
		l.apply(event.Type, event.Object)
	}
}

func (l *loop) get(ctx context.Context, query string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.env.Server+l.env.Path+query, nil)
	if err != nil {
		return nil, err
	}
	return l.client.Do(req)
}

func (l *loop) apply(what string, obj configMap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := obj.Metadata.Namespace + "/" + obj.Metadata.Name
	l.entries = append(l.entries, fmt.Sprintf("%s %s@%s", key, what, obj.Metadata.ResourceVersion))
	l.objects[key] = obj.Metadata.ResourceVersion
	if what == "DELETED" {
		delete(l.objects, key)
	}
}

func (l *loop) Pop() (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) == 0 {
		return "", false
	}
	entry := l.entries[0]
	l.entries = l.entries[1:]
	return entry, true
}

func (l *loop) Store() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for key, version := range l.objects {
		lines = append(lines, key+"@"+version)
	}
	slices.Sort(lines)
	return lines
}

func (l *loop) Synced() bool { return false } // it has no idea
func (l *loop) Close()       { l.client.CloseIdleConnections() }

// A conversation shows what becomes of such a loop: b is deleted while nobody
// watches, and stays in the store forever.
var conversation = fstest.MapFS{"lost-deletion.txt": {Data: []byte(`# A deletion while the watch was down is never told.

start
> GET /api/v1/namespaces/default/configmaps
< 200 list rv=100
	a@90
	b@95
> GET /api/v1/namespaces/default/configmaps?resourceVersion=100&watch=true
< 200 watch
< MODIFIED a@101
pop 3
= default/a Listed@90
= default/b Listed@95
= default/a MODIFIED@101

# The next list comes after a delay, with everything that is held.
< cut
wait
~ 5s
> GET /api/v1/namespaces/default/configmaps
< 200 list rv=200
	a@101
> GET /api/v1/namespaces/default/configmaps?resourceVersion=200&watch=true
pop 2
= default/a Listed@101
store
= store default/a@101
= store default/b@95
stop
> close
`)}}

func TestOtherClient(t *testing.T) { trace.Run(t, conversation, newLoop) }

// Another team's client against this module's traces: the diff says what it would
// have had to do.
func ExampleReplay() {
	const name = "../testdata/stop-opening.txt"
	src, err := os.ReadFile(name)
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := trace.Parse(name, src)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = trace.Replay(f, newLoop, nil)
	fmt.Print(err)
	// Output:
	// # The client is stopped after it has asked for a watch and before the answer.
	//
	// --- ../testdata/stop-opening.txt
	// +++ run
	// @@ -1,12 +1,11 @@
	//  # The client is stopped after it has asked for a watch and before the answer.
	//
	//  start
	// -> GET /api/v1/namespaces/default/configmaps?limit=500&resourceVersion=0
	// +> GET /api/v1/namespaces/default/configmaps
	//  < 200 list rv=100
	//  	a@90
	// -> GET /api/v1/namespaces/default/configmaps?allowWatchBookmarks=true&resourceVersion=100&timeoutSeconds=T&watch=true
	// +> GET /api/v1/namespaces/default/configmaps?resourceVersion=100&watch=true
	//  stop
	//  > close
	//  pop 1
	// -= default/a Replaced@90
	// -= synced
	// += default/a Listed@90
}
