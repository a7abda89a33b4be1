package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/frames"
)

// patience is how long a watch may take to open, and an event to arrive. What takes longer is lost.
const patience = 90 * time.Second

// result is what one run has brought.
type result struct {
	open        time.Duration // from the first request until the last watch is open
	lost        int           // watches that brought no event
	again       int           // requests beyond one for each watch, by what the client has written
	connections int64
}

// server asks the server itself, past any proxy.
type server struct{ client *transport.Client }

func newServer(cfg transport.Config) (*server, error) {
	client, err := transport.NewClient(cfg)
	return &server{client}, err
}

// watches returns how many watches of ConfigMaps the server has open.
func (s *server) watches(ctx context.Context) (int, error) {
	resp, err := s.client.Get(ctx, transport.Request{Path: "/metrics"})
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	total := 0
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if strings.HasPrefix(name, "apiserver_longrunning_requests{") && strings.Contains(name, `resource="configmaps"`) && strings.Contains(name, `scope="namespace"`) {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0, err
			}
			total += int(n)
		}
	}
	return total, nil
}

// touch makes an event for every watch: an object with a new name.
func (s *server) touch(ctx context.Context, name string) error {
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q}}`, name)
	resp, err := s.client.Do(ctx, http.MethodPost, transport.Request{
		Path: "/api/v1/namespaces/default/configmaps", Header: http.Header{"Content-Type": {"application/json"}},
	}, []byte(body))
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// measure opens n watches at the same time, makes one event for all of them, and closes them.
func measure(ctx context.Context, s *server, cfg transport.Config, way way, n int) (r result, err error) {
	var dialled atomic.Int64
	cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialled.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	way.use(&cfg)
	client, err := transport.NewClient(cfg)
	if err != nil {
		return r, err
	}
	defer client.Close()
	if other, ok := cfg.RoundTripper.(*http.Transport); ok {
		defer other.CloseIdleConnections()
	}
	before, err := s.watches(ctx)
	if err != nil {
		return r, err
	}

	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var written atomic.Int64
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { written.Add(1) }})
	streams := make([]transport.Stream, n)
	errs := make([]error, n)
	var opening sync.WaitGroup
	began := time.Now()
	for i := range n {
		opening.Go(func() {
			streams[i], errs[i] = client.Watch(traced, transport.Request{
				Path:   "/api/v1/namespaces/default/configmaps",
				Query:  url.Values{"watch": {"true"}, "timeoutSeconds": {"600"}},
				Frames: []frames.Format{listwatch.JSON},
			})
		})
	}
	opening.Wait()
	r.open, r.again, r.connections = time.Since(began), int(written.Load())-n, dialled.Load()
	if err := errors.Join(errs...); err != nil {
		return r, err
	}
	open, err := s.watches(ctx)
	if err != nil {
		return r, err
	}
	if open -= before; open != n {
		return r, fmt.Errorf("the server has %d watches open, want %d", open, n)
	}

	name := "touched-" + strings.ToLower(rand.Text())
	if err := s.touch(ctx, name); err != nil {
		return r, err
	}
	var lost atomic.Int64
	var reading sync.WaitGroup
	for _, stream := range streams {
		reading.Go(func() {
			if err := await(stream, name); err != nil {
				lost.Add(1)
			}
			_ = stream.Close()
		})
	}
	reading.Wait()
	r.lost = int(lost.Load())
	for { // so that the next run starts without them
		if open, err := s.watches(ctx); err != nil || open <= before {
			return r, err
		}
	}
}

// await reads a stream until the object that touch has made.
func await(stream transport.Stream, name string) error {
	for {
		frame, err := stream.Next()
		if err != nil || bytes.Contains(frame.Data, []byte(name)) {
			return err
		}
	}
}

// startProxy starts a proxy that allows so many streams on a connection.
func startProxy(to cluster.Access, streams int) (*httptest.Server, error) {
	target, err := url.Parse(to.URL)
	if err != nil {
		return nil, err
	}
	upstream, err := to.HTTPClient()
	if err != nil {
		return nil, err
	}
	front := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     upstream.Transport,
		FlushInterval: -1,
	})
	front.EnableHTTP2 = true
	front.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: streams}
	front.StartTLS()
	return front, nil
}
