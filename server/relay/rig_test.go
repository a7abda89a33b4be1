package relay

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/discovery"
)

// rig is a relay in front of an API server, in the memory of a synctest bubble.
type rig struct {
	*testing.T
	server   *apitest.Server
	listener *apitest.Listener
	client   *transport.Client // of the server
	pods     *discovery.Resource
	relay    *Relay
	http     *http.Client // of the relay
	dial     transport.Config
	stop     func() // ends the relay

	protocols http.Protocols // of the relay

	mu       sync.Mutex
	requests []string // that the server has got
}

// play runs a test in a bubble. If opts has no Authenticate, everybody may read everything.
func play(t *testing.T, opts Options, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t}
		r.server, r.listener = apitest.StartInMemory(t, apitest.Options{Log: func(l apitest.LoggedRequest) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if watch := strings.Contains(l.URI, "watch="); !watch || l.Began {
				r.requests = append(r.requests, fmt.Sprintf("%d %s", l.Status, l.URI))
			}
		}})
		var err error
		r.client, err = transport.NewClient(transport.Config{Server: r.listener.URL, Dial: r.listener.Dial})
		must.OK(t, err)
		t.Cleanup(r.client.Close)
		r.protocols.SetHTTP1(true)
		r.start(opts)
		test(r)
	})
}

// start starts the relay.
func (r *rig) start(opts Options) {
	r.Helper()
	var err error
	if r.pods == nil {
		if r.pods, err = discovery.Resolve(r.Context(), r.client, "pods"); err != nil {
			r.Fatal(err)
		}
	}
	opts.Resources = append(opts.Resources, *r.pods)
	if opts.Authenticate == nil {
		opts.Authenticate = func(*http.Request) (*User, error) { return &User{Name: "reader"}, nil }
	}
	if opts.Authorize == nil {
		opts.Authorize = AllowAll
	}
	if opts.OnProblem == nil {
		opts.OnProblem = func(err error) { r.Error("problem:", err) }
	}
	if r.relay, err = New(r.client, opts); err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = r.relay.Run(ctx)
	}()
	network := memnet.New()
	closeServer := network.Serve(&http.Server{Handler: r.relay, Protocols: &r.protocols})
	connections := &http.Transport{DialContext: network.DialSlow, Protocols: &r.protocols}
	r.http = &http.Client{Transport: connections}
	r.dial = transport.Config{Server: "http://localhost", Dial: network.DialSlow}
	r.stop = func() {
		cancel()
		<-ended
	}
	r.Cleanup(func() {
		r.stop()
		connections.CloseIdleConnections()
		closeServer()
	})
	synctest.Wait()
}

// count returns how many requests of a kind the server has got since the last call of forget.
func (r *rig) count(part string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.requests {
		if strings.Contains(one, part) {
			n++
		}
	}
	return n
}

func (r *rig) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = nil
}

// answer is a response that was read.
type answer struct {
	code   int
	header http.Header
	body   string
}

// get sends a request to the relay.
func (r *rig) get(path string) answer {
	r.Helper()
	return r.do(r.http, "http://localhost"+path, nil)
}

// direct sends a request to the API server.
func (r *rig) direct(path string) answer {
	r.Helper()
	return r.do(&http.Client{Transport: r.client.RoundTripper()}, path, nil)
}

// do sends a request that a function may have changed.
func (r *rig) do(client *http.Client, url string, change func(*http.Request)) answer {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, url, nil)
	if err != nil {
		r.Fatal(err)
	}
	if change != nil {
		change(req)
	}
	resp, err := client.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

// later lets time pass.
func later(d time.Duration) { <-time.After(d) }

// create creates a Pod in the namespace shop, and returns its version.
func (r *rig) create(name, node string) string {
	r.Helper()
	version, err := r.server.Create("pods", map[string]any{
		"metadata": map[string]any{"name": name, "namespace": "shop", "labels": map[string]any{"app": name}},
		"spec":     map[string]any{"nodeName": node},
	})
	if err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
	return version
}

// other makes a change that is not of Pods.
func (r *rig) other() {
	r.Helper()
	_, err := r.server.Create("configmaps", map[string]any{"metadata": map[string]any{"generateName": "c-", "namespace": "shop"}})
	if err != nil {
		r.Fatal(err)
	}
}

// reader is a watch through the relay.
type reader struct {
	*rig
	body  io.Closer
	lines *bufio.Reader
}

func (r *rig) watch(query string) *reader {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://localhost/api/v1/pods?watch=true&"+query, nil)
	if err != nil {
		r.Fatal(err)
	}
	resp, err := r.http.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		r.Fatalf("watch %s: %s", query, resp.Status)
	}
	return &reader{r, resp.Body, bufio.NewReader(resp.Body)}
}

// next reads n events: "ADDED a@2", "BOOKMARK @3", "ERROR 410". The end of the stream is "EOF".
func (r *reader) next(n int) string {
	r.Helper()
	var all []string
	for range n {
		line, err := r.lines.ReadBytes('\n')
		if err != nil {
			all = append(all, fmt.Sprint(err))
			break
		}
		var e struct {
			Type   string
			Object struct {
				Metadata struct{ Name, ResourceVersion string }
				Code     int
			}
		}
		if err := json.Unmarshal(line, &e); err != nil {
			r.Fatalf("%v in %q", err, line)
		}
		if e.Type == "ERROR" {
			all = append(all, fmt.Sprintf("ERROR %d", e.Object.Code))
			continue
		}
		all = append(all, fmt.Sprintf("%s %s@%s", e.Type, e.Object.Metadata.Name, e.Object.Metadata.ResourceVersion))
	}
	return strings.Join(all, ", ")
}
