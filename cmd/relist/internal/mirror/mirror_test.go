package mirror

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli/clitest"
	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// fixture is a mirror of a server's ConfigMaps over loopback.
type fixture struct {
	*testing.T
	server *apitest.Server
	mirror *Mirror
	lines  *lines
	stop   context.CancelFunc
	done   chan error // what Run returned
}

// lines collects what is reported.
type lines struct {
	mu      sync.Mutex
	all     []report.Line
	changed chan struct{}
}

func (l *lines) add(line report.Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *lines) now() ([]report.Line, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all), l.changed
}

// start runs a mirror of a server that setup has prepared.
func start(t *testing.T, opts Options, setup func(*apitest.Server)) *fixture {
	t.Helper()
	server := apitest.New(apitest.Options{BookmarkPeriod: 50 * time.Millisecond})
	t.Cleanup(func() { _ = server.Close() })
	setup(server)
	ln, err := server.Listen("127.0.0.1:0")
	must.OK(t, err)
	client, err := transport.NewClient(transport.Config{Server: ln.URL})
	must.OK(t, err)
	t.Cleanup(client.Close)
	source, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*listwatch.Raw]{})
	must.OK(t, err)
	f := &fixture{T: t, server: server, lines: &lines{changed: make(chan struct{})}, done: make(chan error, 1)}
	opts.Source, opts.Report = source, f.lines.add
	f.mirror = New(opts)
	ctx, stop := context.WithCancel(t.Context())
	f.stop = stop
	go func() { f.done <- f.mirror.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-f.done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return f
}

// end stops the mirror and returns its summary.
func (f *fixture) end() report.Summary {
	f.Helper()
	f.stop()
	if err := <-f.done; err != nil {
		f.Fatal(err)
	}
	f.done <- nil // for the cleanup
	return f.mirror.Summary()
}

// await waits for n lines of a kind, and returns the last.
func (f *fixture) await(kind string, n int) report.Line {
	f.Helper()
	timeout := time.After(clitest.Limit)
	for {
		all, changed := f.lines.now()
		seen := 0
		for _, l := range all {
			if report.Kind(l) != kind {
				continue
			}
			if seen++; seen == n {
				return l
			}
		}
		select {
		case <-changed:
		case <-timeout:
			f.Fatalf("waited for %d lines %q; there are %d: %+v", n, kind, len(all), all)
		}
	}
}

func (f *fixture) kinds() []string {
	all, _ := f.lines.now()
	var kinds []string
	for _, l := range all {
		kinds = append(kinds, report.Kind(l))
	}
	return kinds
}

func create(t *testing.T, server *apitest.Server, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "a", "name": name}}); err != nil {
			t.Fatal(err)
		}
	}
}

func nothing(*apitest.Server) {}

// A list is told before the deltas that it brings, and synced after the last of them.
func TestOrderOfLines(t *testing.T) {
	f := start(t, Options{}, func(s *apitest.Server) {
		for i := range 500 {
			create(t, s, fmt.Sprint("x", i))
		}
	})
	f.await("synced", 1)
	kinds := slices.DeleteFunc(f.kinds(), func(k string) bool { return k == "watch" || k == "bookmark" })
	if kinds[0] != "list" || slices.Index(kinds, "synced") != 501 {
		t.Errorf("list is line %d, synced line %d, want 0 and 501", slices.Index(kinds, "list"), slices.Index(kinds, "synced"))
	}
	s := f.end()
	if s.Objects != 500 || s.Deltas != (report.Deltas{FirstList: 500}) || s.Lists != 1 || s.SyncSeconds <= 0 {
		t.Errorf("summary = %+v", s)
	}
}

func TestEmptyListSyncs(t *testing.T) {
	f := start(t, Options{}, nothing)
	if l := f.await("synced", 1).(report.Synced); l.Objects != 0 {
		t.Errorf("%+v", l)
	}
}

func TestFollows(t *testing.T) {
	f := start(t, Options{}, func(s *apitest.Server) { create(t, s, "one", "two") })
	f.await("synced", 1)
	create(t, f.server, "three")
	if _, err := f.server.Patch("configmaps", "a", "one", map[string]any{"data": map[string]any{"k": "v"}}); err != nil {
		t.Fatal(err)
	}
	last, err := f.server.Delete("configmaps", "a", "two")
	must.OK(t, err)
	d := f.await("delta", 5).(report.Delta)
	if d.Type != "Deleted" || d.Key != "a/two" || d.Inferred || d.ResourceVersion != last {
		t.Errorf("the last delta is %+v", d)
	}
	f.await("bookmark", 1)
	s := f.end()
	if s.Deltas != (report.Deltas{FirstList: 2, Added: 1, Updated: 1, Deleted: 1}) || s.Inferred != 0 || s.Bookmarks == 0 || s.ResourceVersion != last {
		t.Errorf("summary = %+v", s)
	}
	if want := serverDigest(t, f.server); s.Digest != want {
		t.Errorf("digest %s, want that of the server, %s", s.Digest, want)
	}
}

func serverDigest(t *testing.T, server *apitest.Server) string {
	items, _, err := server.List("configmaps", "")
	must.OK(t, err)
	all := store.New(store.Options[*unstructured.Unstructured]{})
	for _, item := range items {
		must.OK(t, all.Add(&unstructured.Unstructured{Object: item}))
	}
	return Digest(all.All())
}

// What is deleted while the server cannot be reached is found by the list.
func TestInfersDeletions(t *testing.T) {
	opts := Options{Reflector: reflector.Options{BackoffBase: time.Millisecond, BackoffCap: 10 * time.Millisecond}}
	f := start(t, opts, func(s *apitest.Server) { create(t, s, "one", "two") })
	f.await("synced", 1)
	must.OK(t, f.server.Refuse(0))
	f.await("watchEnd", 1) // cut; or the first one was refused
	if _, err := f.server.Delete("configmaps", "a", "two"); err != nil {
		t.Fatal(err)
	}
	f.server.Compact()
	must.OK(t, f.server.Resume())
	f.await("list", 2)
	d := f.await("delta", 4).(report.Delta)
	if d.Type != "Deleted" || d.Key != "a/two" || !d.Inferred {
		t.Errorf("the last delta is %+v", d)
	}
	s := f.end()
	if s.Inferred != 1 || s.Relists != 1 || s.Lists != 2 || s.Objects != 1 {
		t.Errorf("summary = %+v", s)
	}
	all, _ := f.lines.now()
	for _, l := range all {
		if r, ok := l.(report.Relist); ok && (r.Reason != "expired" || !strings.HasPrefix(r.Message, "410 Expired: too old resource version")) {
			t.Errorf("relist = %+v", r)
		}
	}
}

func TestFailEarly(t *testing.T) {
	for _, tt := range []struct {
		status int
		fails  bool
	}{{401, true}, {403, true}, {400, true}, {429, false}, {500, false}} {
		t.Run(http.StatusText(tt.status), func(t *testing.T) {
			f := start(t, Options{FailEarly: true}, func(s *apitest.Server) {
				if err := s.FailNext(apitest.Failure{Verb: "list", Status: tt.status}); err != nil {
					t.Error(err)
				}
			})
			if tt.fails {
				if err := <-f.done; err == nil {
					t.Error("Run returned nil")
				}
				f.done <- nil
				return
			}
			f.await("backoff", 1)
			f.stop()
			if err := <-f.done; err != nil {
				t.Error(err)
			}
			f.done <- nil
		})
	}
}

func TestDigest(t *testing.T) {
	s := store.New(store.Options[*unstructured.Unstructured]{})
	for _, name := range []string{"b", "a"} {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetNamespace("n")
		o.SetName(name)
		o.SetUID("u")
		o.SetResourceVersion("1")
		must.OK(t, s.Add(o))
	}
	// printf 'n/a u 1\nn/b u 1\n' | sha256sum
	const want = "sha256:b234388727361df8b6c3cc1ec3510807bb4bda31e31a9135e9039e6855dc6b41"
	if got := Digest(s.All()); got != want {
		t.Errorf("Digest = %s, want %s", got, want)
	}
}
