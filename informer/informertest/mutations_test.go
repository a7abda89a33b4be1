package informertest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// recorder is a test that keeps what it is told.
type recorder struct {
	testing.TB
	cleanups []func()
	failures []string
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Error(a ...any)   { r.failures = append(r.failures, fmt.Sprint(a...)) }
func (r *recorder) Errorf(format string, a ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, a...))
}

func (r *recorder) end() {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
}

type container struct {
	Name      string                       `json:"name"`
	Args      []string                     `json:"args"`
	Limits    map[string]resource.Quantity `json:"limits"`
	Privilege *bool                        `json:"privilege"`
	Request   resource.Quantity            `json:"request"`
}

type pod struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Containers []container `json:"containers"`
		Secret     []byte      `json:"secret"`
	} `json:"spec"`

	hits int
}

var podJSON = map[string]any{
	"metadata": map[string]any{"namespace": "shop", "name": "web", "labels": map[string]any{"app": "web", "tier": "front"}},
	"spec": map[string]any{"secret": "YWJj", "containers": []any{map[string]any{
		"name": "main", "args": []any{"-v"}, "limits": map[string]any{"cpu": "1500m"}, "privilege": false, "request": "1.5Gi",
	}}},
}

// follow runs an informer of the server's Pods in a bubble until the test has ended.
func follow[T object.Object](t *testing.T, in func(*informer.Informer[T])) (*apitest.Server, *informer.Informer[T]) {
	t.Helper()
	server, listener := apitest.StartInMemory(t, apitest.Options{})
	if _, err := server.Create("pods", podJSON); err != nil {
		t.Fatal(err)
	}
	client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial})
	must.OK(t, err)
	pods, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, listwatch.Options[T]{})
	must.OK(t, err)
	cache := informer.New(pods, informer.Options[T]{Logger: slog.New(slog.DiscardHandler)})
	in(cache)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cache.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		client.Close()
	})
	synctest.Wait()
	return server, cache
}

func TestDetectMutations(t *testing.T) {
	for _, test := range []struct {
		write func(*pod)
		want  string // after "somebody wrote to "
	}{
		{func(p *pod) { p.Labels["app"] = "db" }, `/metadata/labels/app: it was "web", and is "db"`},
		{func(p *pod) { delete(p.Labels, "tier") }, `/metadata/labels/tier: it was "front", and is gone`},
		{func(p *pod) { p.Labels["new"] = "" }, `/metadata/labels/new: it was not there, and is ""`},
		{func(p *pod) { p.Spec.Containers[0].Args[0] = "-q" }, `/spec/containers/0/args/0: it was "-v", and is "-q"`},
		{func(p *pod) { *p.Spec.Containers[0].Privilege = true }, `/spec/containers/0/privilege: it was false, and is true`},
		{func(p *pod) { p.Spec.Containers[0].Request.Add(resource.MustParse("1Gi")) }, `/spec/containers/0/request: it was "1536Mi", and is "2560Mi"`},
		{func(p *pod) { p.Spec.Containers[0].Limits["cpu"] = resource.MustParse("2") }, `/spec/containers/0/limits/cpu: it was "1500m", and is "2"`},
		{func(p *pod) { p.Spec.Secret[0] = 'x' }, `/spec/secret: it was "YWJj", and is "eGJj"`},
		{func(p *pod) { p.CreationTimestamp.Time = p.CreationTimestamp.Add(time.Hour) }, `/metadata/creationTimestamp: it was `},
		// These are no mutations.
		{func(p *pod) { _ = p.Spec.Containers[0].Request.String() }, ""},
		{func(p *pod) { p.Labels = map[string]string{"tier": "front", "app": "web"} }, ""},
		{func(p *pod) { p.hits++ }, ""},
		{func(p *pod) { q := *p; q.Name = "copy" }, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var r recorder
			_, cache := follow(t, func(in *informer.Informer[*pod]) { DetectMutations(&r, in) })
			p, ok := cache.Store().Get("shop/web")
			if !ok {
				t.Fatal("no Pod")
			}
			test.write(p)
			r.end()
			if test.want == "" {
				if len(r.failures) > 0 {
					t.Errorf("%q, and nobody has written to the object", r.failures)
				}
				return
			}
			if want := "pod shop/web at resourceVersion 2: somebody wrote to " + test.want; len(r.failures) != 1 || !strings.HasPrefix(r.failures[0], want) {
				t.Errorf("got  %q\nwant %q", r.failures, want)
			}
		})
	}
}

// Objects without a type of their own, several of them, and what the store no longer has.
func TestDetectMutationsOfEveryState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		var check func()
		server, cache := follow(t, func(in *informer.Informer[*unstructured.Unstructured]) {
			check = DetectMutations(&r, in)
			_, err := in.AddHandler(informer.Handler[*unstructured.Unstructured]{
				OnUpdate: func(old, _ *unstructured.Unstructured) { old.SetLabels(nil) },
			})
			must.OK(t, err)
		})
		if check(); len(r.failures) > 0 {
			t.Errorf("%q before anything has happened", r.failures)
		}
		if _, err := server.Patch("pods", "shop", "web", map[string]any{"spec": map[string]any{"nodeName": "n1"}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		web, _ := cache.Store().Get("shop/web")
		for i := range 20 {
			must.OK(t, unstructured.SetNestedField(web.Object, "x", "spec", fmt.Sprintf("new%02d", i)))
		}
		check()
		want := []string{
			`Unstructured shop/web at resourceVersion 2: somebody wrote to /metadata/labels/app: it was "web", and is gone`,
			`Unstructured shop/web at resourceVersion 3: somebody wrote to /spec/new00: it was not there, and is "x"; `,
		}
		if len(r.failures) != len(want) {
			t.Fatalf("%q, want %d failures", r.failures, len(want))
		}
		for i, f := range r.failures {
			if !strings.HasPrefix(f, want[i]) {
				t.Errorf("got  %q\nwant %q", f, want[i])
			}
		}
		if !strings.HasSuffix(r.failures[1], `/spec/new09: it was not there, and is "x"; 10 more`) {
			t.Errorf("%q does not end after ten fields", r.failures[1])
		}
		if r.end(); len(r.failures) > len(want) {
			t.Errorf("told again: %q", r.failures[len(want):])
		}
	})
}

// An informer that has ended has no changes to look at, and that is said.
func TestDetectMutationsTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := informer.New(source.Funcs[*pod]{
			ListFunc: func(ctx context.Context, _ metav1.ListOptions) (*source.Page[*pod], error) { return nil, ctx.Err() },
		}, informer.Options[*pod]{Logger: slog.New(slog.DiscardHandler)})
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := in.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		var r recorder
		DetectMutations(&r, in)
		if len(r.failures) != 1 || !strings.Contains(r.failures[0], "stopped") {
			t.Errorf("%q, want one that says that the informer has stopped", r.failures)
		}
		r.end()
	})
}
