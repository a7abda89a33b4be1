package record

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/internal/pipe"
	"github.com/relist-go/relist/trace"
	"github.com/relist-go/relist/transport"
)

// world is an API server in a bubble, and a client that is being recorded.
type world struct {
	t      *testing.T
	server *apitest.Server
	lines  []string // seen so far
	down   bool     // connections are refused

	mu    sync.Mutex
	conns []*pipe.Conn
	idle  map[net.Conn]bool // the server waits for a request on it
}

// setup is what is recorded.
type setup struct {
	Options
	handler http.Handler // the server, if it is not an apitest.Server
}

// listenTo records what happens while script runs, in virtual time.
func listenTo(t *testing.T, server apitest.Options, opts setup, fill, script func(*world)) *conversation {
	t.Helper()
	var c *conversation
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, server: apitest.New(server), idle: map[net.Conn]bool{}}
		network := memnet.New()
		var handler http.Handler = w.server
		if opts.handler != nil {
			handler = opts.handler
		}
		stop := network.Serve(&http.Server{Handler: handler, ConnState: w.connState})
		client, err := transport.NewClient(transport.Config{
			Server: "http://apitest.test",
			Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				if w.down {
					return nil, pipe.Refused()
				}
				client, conn := pipe.New()
				w.conns = append(w.conns, conn)
				return client, network.Connect(ctx, conn)
			},
		})
		must.OK(t, err)
		fill(w)
		ctx, cancel := context.WithCancel(t.Context())
		opts.Options = opts.withDefaults()
		opts.Line = func(line string) { w.lines = append(w.lines, line) }
		done := make(chan struct{})
		go func() {
			defer close(done)
			c, err = listen(ctx, client, opts.Options)
		}()
		synctest.Wait()
		script(w)
		synctest.Wait()
		cancel()
		<-done
		client.Close()
		stop()
		_ = w.server.Close()
		must.OK(t, err)
	})
	return c
}

func (w *world) connState(conn net.Conn, state http.ConnState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle[conn] = state == http.StateIdle
}

// crash resets every connection and refuses new ones, or ends that. The idle connections are reset
// first: otherwise it would depend on the goroutines whether the client sends a request on one of
// them when it learns of the reset of another.
func (w *world) crash(down bool) {
	w.mu.Lock()
	w.down = down
	var idle, busy []*pipe.Conn
	for _, conn := range w.conns {
		if w.idle[conn] {
			idle = append(idle, conn)
		} else {
			busy = append(busy, conn)
		}
	}
	w.conns = nil
	w.mu.Unlock()
	for _, conn := range idle {
		conn.Reset()
	}
	synctest.Wait()
	for _, conn := range busy {
		conn.Reset()
	}
}

func (w *world) fail(how apitest.Failure) {
	w.t.Helper()
	if err := w.server.FailNext(how); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) put(namespace, name string, data map[string]any) {
	w.t.Helper()
	obj := map[string]any{
		"metadata": map[string]any{
			"namespace": namespace, "name": name, "uid": "5d5c4d2e-" + name,
			"labels": map[string]any{"team": "team-of-" + name},
		},
		"data": data,
	}
	_, err := w.server.Update("configmaps", obj)
	if err != nil {
		_, err = w.server.Create("configmaps", obj)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}

func (w *world) remove(namespace, name string) {
	w.t.Helper()
	if _, err := w.server.Delete("configmaps", namespace, name); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}

// passes composes the trace, and checks that it passes when it is read again.
func passes(t *testing.T, c *conversation) string {
	t.Helper()
	r, err := c.recording(trace.Mirror)
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Raw)
	}
	f, err := trace.Parse("recorded.txt", r.Trace)
	must.OK(t, err)
	if _, err := trace.Replay(f, trace.Mirror, nil); err != nil {
		t.Fatalf("%v\n%s", err, r.Trace)
	}
	return string(r.Trace)
}

// contain fails if a trace lacks one of the lines.
func contain(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, want := range want {
		if !strings.Contains("\n"+text, "\n"+want) {
			t.Errorf("no line begins %q in\n%s", want, text)
		}
	}
}
