package architecture

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// What one event may cross. A step of the road that needs one file more is a reason to ask whether
// the file is needed.
const (
	eventFiles    = 25
	eventPackages = 9
)

// TestRoadOfAnEvent follows one event of a watch from the socket to a callback. It prints the
// packages and files of this module that are on the call stack at any of these moments: the
// connection is read; the object is decoded; anybody asks the object for its name, UID or version;
// a transform, an index function, a function of the trace, or the callback runs.
//
// The road is not one stack, because goroutines hand over. A function that has returned before any
// of these moments is on no stack; docs/architecture.md has the whole road.
func TestRoadOfAnEvent(t *testing.T) {
	files := eventRoad(t)
	packages := packagesOf(files)
	t.Logf("an event crosses %d files in %d packages", len(files), len(packages))
	for _, p := range packages {
		t.Logf("  %s", p)
		for _, f := range files {
			if path.Dir(f) == p {
				t.Logf("    %s", path.Base(f))
			}
		}
	}
	if len(files) > eventFiles || len(packages) > eventPackages {
		t.Errorf("an event crosses %d files in %d packages, want %d in %d at most", len(files), len(packages), eventFiles, eventPackages)
	}
}

// TestRoadOfAnEventIsDrawn compares what an event crosses with what docs/architecture.md shows.
func TestRoadOfAnEventIsDrawn(t *testing.T) {
	drawn := readRoad(t, "event").files()
	for _, f := range eventRoad(t) {
		if !slices.Contains(drawn, f) {
			t.Errorf("an event crosses %s, and event.txt does not name it", f)
		}
	}
}

// eventRoad returns the files that one event crosses, sorted.
func eventRoad(t *testing.T) []string {
	t.Helper()
	walk := &walk{files: map[string]bool{}}
	server, url := apitest.Start(t, apitest.Options{})
	object := func(value string) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"namespace": "shop", "name": "tea"},
			"data":     map[string]any{"price": value},
		}
	}
	if _, err := server.Create("configmaps", object("1")); err != nil {
		t.Fatal(err)
	}
	told := make(chan string)
	stop := walk.start(t, url, func(value string) { told <- value })
	for _, value := range []string{"1", "2", "3"} {
		if value != "1" { // which is in the list
			walk.record(value == "3")
			if _, err := server.Update("configmaps", object(value)); err != nil {
				t.Fatal(err)
			}
		}
		if got := <-told; got != value {
			t.Fatalf("the callback is told of %q, want %q", got, value)
		}
	}
	walk.record(false)
	stop()
	return walk.sorted()
}

// walk is a pipeline with a probe wherever a program's own code can run.
type walk struct {
	mu    sync.Mutex
	on    bool
	files map[string]bool
}

func (w *walk) record(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.on = on
}

func (w *walk) sorted() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var files []string
	for f := range w.files { // sorted below
		files = append(files, f)
	}
	slices.Sort(files)
	return files
}

// probe notes the files of this module on the stack of its caller.
func (w *walk) probe() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.on {
		return
	}
	var pcs [200]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		if file, ok := ownFile(frame); ok {
			w.files[file] = true
		}
		if !more {
			return
		}
	}
}

const module = "github.com/relist-go/relist"

// ownFile returns the file of a frame, as a path from the root of this module, unless the frame is
// of something else or of a test. internal/goexit is where goroutines begin, as runtime.goexit is:
// no event passes through it.
func ownFile(frame runtime.Frame) (file string, ok bool) {
	rest, ok := strings.CutPrefix(frame.Function, module)
	if !ok || strings.HasPrefix(rest, "/internal/goexit.") || strings.HasSuffix(frame.File, "_test.go") || !strings.HasSuffix(frame.File, ".go") {
		return "", false
	}
	// The package's path ends at the first dot behind the last slash; slashes of type arguments do
	// not count.
	rest, _, _ = strings.Cut(rest, "[")
	slash := strings.LastIndex(rest, "/") + 1
	name, _, _ := strings.Cut(rest[slash:], ".")
	return strings.TrimPrefix(path.Join(rest[:slash]+name, path.Base(frame.File)), "/"), true
}

func packagesOf(files []string) []string {
	var packages []string
	for _, f := range files {
		packages = append(packages, path.Dir(f))
	}
	slices.Sort(packages)
	return slices.Compact(packages)
}

// current is the walk that the methods of objects report to. A method has no other way to it.
var current *walk

// probed is an object that says when it is looked at.
type probed struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Data     probedData        `json:"data"`
}

type probedData struct{ price string }

// UnmarshalJSON is called by the decoder.
func (d *probedData) UnmarshalJSON(text []byte) error {
	current.probe()
	_, rest, _ := strings.Cut(string(text), `"price":"`)
	d.price, _, _ = strings.Cut(rest, `"`)
	return nil
}

func (p *probed) GetNamespace() string       { current.probe(); return p.Metadata.Namespace }
func (p *probed) GetName() string            { current.probe(); return p.Metadata.Name }
func (p *probed) GetUID() types.UID          { current.probe(); return p.Metadata.UID }
func (p *probed) GetResourceVersion() string { current.probe(); return p.Metadata.ResourceVersion }

// conn says when it is read.
type conn struct {
	net.Conn
	walk *walk
}

func (c conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.walk.probe() // once the bytes are here: a read that waits is not part of the road
	return n, err
}

// start runs an informer until the function that it returns is called.
func (w *walk) start(t *testing.T, url string, told func(price string)) (stop func()) {
	t.Helper()
	current = w
	client, err := transport.NewClient(transport.Config{
		Server: url,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			return conn{c, w}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	configMaps, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*probed]{
		Transform: func(p *probed) (*probed, error) { w.probe(); return p, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	cache := informer.New(configMaps, informer.Options[*probed]{
		Logger:    slog.New(slog.DiscardHandler),
		Indexers:  store.Indexers[*probed]{"price": func(p *probed) []string { w.probe(); return []string{p.Data.price} }},
		Reflector: reflector.Options{Trace: &reflector.Trace{Event: func(reflector.Event) { w.probe() }}},
	})
	_, err = cache.AddHandler(informer.Handler[*probed]{
		OnAdd:    func(p *probed, _ bool) { w.probe(); told(p.Data.price) },
		OnUpdate: func(_, p *probed) { w.probe(); told(p.Data.price) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := cache.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
	return func() {
		cancel()
		running.Wait()
		client.Close()
	}
}
