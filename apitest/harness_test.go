package apitest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/internal/must"
)

// A fixture is a server and a client of it over connections in memory, so that both live in a
// synctest bubble.
type fixture struct {
	*testing.T
	*Server
	client *http.Client
}

// serve starts a fixture. Everything has ended when the test does.
func serve(t *testing.T, opts Options) *fixture {
	t.Helper()
	s := New(opts)
	return &fixture{t, s, memoryClient(t, s, s)}
}

// failNext is FailNext with a failure that can be met.
func (f *fixture) failNext(x Failure) {
	f.Helper()
	if err := f.FailNext(x); err != nil {
		f.Error(err)
	}
}

// Cut is Server.Cut with a resource that there is.
func (f *fixture) Cut(c Cut) int {
	f.Helper()
	return must.Get[int](f.T)(f.Server.Cut(c))
}

// memoryClient returns a client whose every connection is a pipe to handler.
func memoryClient(t *testing.T, s *Server, handler http.Handler) *http.Client {
	network := memnet.New()
	stop := network.Serve(&http.Server{Handler: handler})
	transport := &http.Transport{DialContext: network.DialSlow}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		stop()
		pass(time.Second) // net/http lingers on a connection whose request it did not read to the end
	})
	return &http.Client{Transport: transport}
}

// An answer is a response that was read to its end.
type answer struct {
	code   int
	header http.Header
	body   string
	err    error // of reading the body
	took   time.Duration
}

func (f *fixture) do(method, path, body string, header ...string) answer {
	f.Helper()
	return request(f.T, f.client, method, "http://192.0.2.2:16443"+path, body, header...)
}

func (f *fixture) get(path string, header ...string) answer {
	f.Helper()
	return f.do(http.MethodGet, path, "", header...)
}

func request(t *testing.T, client *http.Client, method, addr, body string, header ...string) answer {
	t.Helper()
	began := time.Now()
	resp := open(t, client, method, addr, body, header...)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(b), err, time.Since(began)}
}

// try asks for the headers of an answer to a GET.
func try(t *testing.T, client *http.Client, addr string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, addr, nil)
	must.OK(t, err)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func open(t *testing.T, client *http.Client, method, addr, body string, header ...string) *http.Response {
	t.Helper()
	return openUntil(t.Context(), t, client, method, addr, body, header...)
}

// openUntil sends a request that ends with ctx.
func openUntil(ctx context.Context, t *testing.T, client *http.Client, method, addr, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, addr, strings.NewReader(body))
	must.OK(t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, addr, err)
	}
	return resp
}

// A watcher reads the frames of one watch.
type watcher struct {
	*testing.T
	r *bufio.Reader
}

type frame struct {
	Type   string
	Object struct {
		Kind     string
		Code     int
		Reason   string
		Message  string
		Metadata struct {
			Name, Namespace, UID, ResourceVersion string
			Annotations, Labels                   map[string]string
		}
		Data map[string]string
	}
}

func (f frame) String() string {
	if f.Type == "ERROR" {
		return "ERROR " + f.Object.Reason
	}
	if f.Type == "BOOKMARK" {
		end := ""
		if f.Object.Metadata.Annotations["k8s.io/initial-events-end"] == "true" {
			end = " end"
		}
		return "BOOKMARK@" + f.Object.Metadata.ResourceVersion + end
	}
	return f.Type + " " + f.Object.Metadata.Name + "@" + f.Object.Metadata.ResourceVersion
}

func (f *fixture) watch(path string, header ...string) *watcher {
	f.Helper()
	return openWatch(f.T, f.client, "http://192.0.2.2:16443"+path, header...)
}

// openWatch opens a watch, which is closed with the test at the latest.
func openWatch(t *testing.T, client *http.Client, addr string, header ...string) *watcher {
	t.Helper()
	return openWatchUntil(t.Context(), t, client, addr, header...)
}

// openWatchUntil opens a watch that the client gives up when ctx ends. To close the body in the
// middle of a read is no way to do so: with Go 1.27, net/http then waits for the reader for 50 ms,
// which do not pass in a bubble of synctest.
func openWatchUntil(ctx context.Context, t *testing.T, client *http.Client, addr string, header ...string) *watcher {
	t.Helper()
	resp := openUntil(ctx, t, client, http.MethodGet, addr, "", header...)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("watch %s: %s", addr, resp.Status)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return &watcher{t, bufio.NewReader(resp.Body)}
}

// next reads one frame; the error is that of the stream.
func (w *watcher) next() (frame, error) {
	line, err := w.r.ReadBytes('\n')
	if err != nil {
		return frame{}, err
	}
	var f frame
	if err := json.Unmarshal(line, &f); err != nil {
		w.Fatalf("frame %q: %v", line, err)
	}
	return f, nil
}

// want reads as many frames as are given.
func (w *watcher) want(frames ...string) {
	w.Helper()
	for _, want := range frames {
		f, err := w.next()
		if err != nil {
			w.Fatalf("want %s, the stream ended: %v", want, err)
		}
		if f.String() != want {
			w.Fatalf("got %s, want %s", f, want)
		}
	}
}

// wantEnd reads the end of the stream.
func (w *watcher) wantEnd(want error) {
	w.Helper()
	if f, err := w.next(); !errors.Is(err, want) {
		w.Fatalf("got %v and error %v, want the stream to end with %v", f, err, want)
	}
}

func configMap(namespace, name string, data ...string) map[string]any {
	m := make(map[string]any)
	for i := 0; i+1 < len(data); i += 2 {
		m[data[i]] = data[i+1]
	}
	return map[string]any{"metadata": map[string]any{"namespace": namespace, "name": name}, "data": m}
}

// create makes ConfigMaps "namespace/name" and returns the last version.
func (f *fixture) create(keys ...string) (rv string) {
	f.Helper()
	for _, key := range keys {
		ns, name, _ := strings.Cut(key, "/")
		rv = must.Get[string](f.T)(f.Create("configmaps", configMap(ns, name, "v", "1")))
	}
	return rv
}

// touch changes one ConfigMap.
func (f *fixture) touch(key string) (rv string) {
	f.Helper()
	ns, name, _ := strings.Cut(key, "/")
	return must.Get[string](f.T)(f.Patch("configmaps", ns, name, map[string]any{"data": map[string]any{"t": f.ResourceVersion()}}))
}

// pass lets time go by in a synctest bubble: none, for the one who waits for the test.
func pass(d time.Duration) { <-time.After(d) }
