package writer_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/controller/writer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/lazy"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// gadget has members of many kinds.
type gadget struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Size  int64          `json:"size"`
		Name  string         `json:"name,omitempty"`
		Tags  []string       `json:"tags"`
		Parts map[string]any `json:"parts"`
		Deep  *deep          `json:"deep,omitempty"`
	} `json:"spec"`
	Status struct {
		Ready bool `json:"ready"`
	} `json:"status"`
}

type deep struct {
	A int `json:"a,omitempty"`
	B int `json:"b,omitempty"`
}

// What is sent is what the function has changed, and nothing else.
func TestPatch(t *testing.T) {
	const huge = int64(9007199254740993) // no float64 is this number
	for name, tt := range map[string]struct {
		change func(g *gadget)
		want   string // "": no request
	}{
		"nothing":             {func(*gadget) {}, ""},
		"the same":            {func(g *gadget) { g.Spec.Size = huge; g.Spec.Tags = []string{"a", "b"} }, ""},
		"a number":            {func(g *gadget) { g.Spec.Size-- }, `{"metadata":{"resourceVersion":"7"},"spec":{"size":9007199254740992}}`},
		"a list":              {func(g *gadget) { g.Spec.Tags = g.Spec.Tags[:1] }, `{"metadata":{"resourceVersion":"7"},"spec":{"tags":["a"]}}`},
		"a list that ends":    {func(g *gadget) { g.Spec.Tags = nil }, `{"metadata":{"resourceVersion":"7"},"spec":{"tags":null}}`},
		"a string that ends":  {func(g *gadget) { g.Spec.Name = "" }, `{"metadata":{"resourceVersion":"7"},"spec":{"name":null}}`},
		"a key":               {func(g *gadget) { g.Spec.Parts["y"] = 2 }, `{"metadata":{"resourceVersion":"7"},"spec":{"parts":{"y":2}}}`},
		"a key that ends":     {func(g *gadget) { delete(g.Spec.Parts, "x") }, `{"metadata":{"resourceVersion":"7"},"spec":{"parts":{"x":null}}}`},
		"a map that ends":     {func(g *gadget) { g.Spec.Parts = nil }, `{"metadata":{"resourceVersion":"7"},"spec":{"parts":null}}`},
		"a key with no value": {func(g *gadget) { g.Spec.Parts["y"] = nil }, ""},
		"something new":       {func(g *gadget) { g.Spec.Deep.A = 0; g.Spec.Deep.B = 2 }, `{"metadata":{"resourceVersion":"7"},"spec":{"deep":{"a":null,"b":2}}}`},
		"a label":             {func(g *gadget) { g.Labels = map[string]string{"a": "b"} }, `{"metadata":{"labels":{"a":"b"},"resourceVersion":"7"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			server := newWire(t)
			server.answer = `{"metadata":{"name":"g","resourceVersion":"8"}}`
			have := &gadget{ObjectMeta: metav1.ObjectMeta{Name: "g", ResourceVersion: "7"}}
			have.Spec.Size, have.Spec.Name, have.Spec.Tags = huge, "old", []string{"a", "b"}
			have.Spec.Parts = map[string]any{"x": huge}
			have.Spec.Deep = &deep{A: 1}
			before := cmp.Diff(nil, have)
			got, err := newWriter[*gadget](t, server.Client, gadgets, writer.Options{}).Modify(t.Context(), have, tt.change)
			must.OK(t, err)
			if tt.want == "" {
				if got != have || len(server.requests) > 0 {
					t.Errorf("sent %q, and returned %+v", server.requests, got)
				}
				return
			}
			want := []string{"PATCH /apis/example.com/v1/gadgets/g?fieldValidation=Strict application/merge-patch+json " + tt.want}
			if diff := cmp.Diff(want, server.requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, cmp.Diff(nil, have)); diff != "" {
				t.Errorf("the object of the caller has changed:\n%s", diff)
			}
		})
	}
}

// A lazy object is decoded once for a patch, and stays what it is. The object alone has nothing
// that a function could change.
func TestPatchOfLazyObject(t *testing.T) {
	type lazyGadget = lazy.Object[*gadget]
	server := newWire(t)
	server.answer = `{"metadata":{"name":"g","resourceVersion":"8"}}`
	have := &lazyGadget{}
	const text = `{"metadata":{"name":"g","resourceVersion":"7"},"spec":{"size":1,"tags":["a"],"parts":null},"status":{"ready":false}}`
	must.OK(t, have.UnmarshalJSON([]byte(text)))
	whole, err := have.Get()
	must.OK(t, err)
	if _, err := newWriter[*gadget](t, server.Client, gadgets, writer.Options{}).Modify(t.Context(), whole, func(g *gadget) { g.Spec.Size = 2 }); err != nil {
		t.Error(err)
	}
	lazily := newWriter[*lazyGadget](t, server.Client, gadgets, writer.Options{})
	_, err = lazily.Modify(t.Context(), have, func(g *lazyGadget) { t.Errorf("called with %s", g) })
	if err == nil || !strings.Contains(err.Error(), "is bytes, and change cannot write to it") {
		t.Errorf("Modify: %v", err)
	}
	if answer, err := lazily.Create(t.Context(), have); err != nil || answer.GetResourceVersion() != "8" {
		t.Errorf("%s, %v", answer, err)
	}
	want := []string{
		`PATCH /apis/example.com/v1/gadgets/g?fieldValidation=Strict application/merge-patch+json {"metadata":{"resourceVersion":"7"},"spec":{"size":2}}`,
		`POST /apis/example.com/v1/gadgets?fieldValidation=Strict application/json {"apiVersion":"example.com/v1","kind":"Gadget",` + text[1:],
	}
	if diff := cmp.Diff(want, server.requests); diff != "" || string(have.Bytes()) != text {
		t.Errorf("%s; requests (-want +got):\n%s", have.Bytes(), diff)
	}
}

var gadgets = object.Type{Group: "example.com", Version: "v1", Resource: "gadgets", Kind: "Gadget", ClusterScoped: true}

func TestPatchStatus(t *testing.T) {
	server := newWire(t)
	server.answer = `{"metadata":{"name":"g","resourceVersion":"8"}}`
	have := &gadget{ObjectMeta: metav1.ObjectMeta{Name: "g", ResourceVersion: "7"}}
	w := newWriter[*gadget](t, server.Client, gadgets, writer.Options{})
	if _, err := w.ModifyStatus(t.Context(), have, func(g *gadget) { g.Status.Ready = true }); err != nil {
		t.Error(err)
	}
	want := []string{`PATCH /apis/example.com/v1/gadgets/g/status?fieldValidation=Strict application/merge-patch+json {"metadata":{"resourceVersion":"7"},"status":{"ready":true}}`}
	if diff := cmp.Diff(want, server.requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	_, err := w.ModifyStatus(t.Context(), have, func(g *gadget) { g.Spec.Size = 1 })
	wantError(t, err, "patch the status of gadgets.example.com g: the function has changed spec, and a patch of the status changes nothing else: use Modify")
}

// If there is no status, an empty one is no change. Nor is a value that the type cannot find again
// in the JSON, because each call would send it. A key without content can be found again.
func TestPatchOfAnEmptyStatus(t *testing.T) {
	type parts struct {
		Names []string            `json:"names,omitempty"`
		Seen  map[string]struct{} `json:"seen,omitempty"`
	}
	type status struct {
		Count int   `json:"count,omitempty"`
		Parts parts `json:"parts,omitzero"`
	}
	type whole struct {
		metav1.ObjectMeta `json:"metadata"`

		Status *status `json:"status,omitempty"`
		Spec   parts   `json:"spec,omitzero"`
	}
	for name, tt := range map[string]struct {
		have   string
		change func(o *whole)
		spec   bool
		want   string // "": no request
	}{
		"none":           {have: `{}`, change: func(o *whole) { o.Status = &status{} }},
		"empty parts":    {have: `{"status":{"count":1}}`, change: func(o *whole) { o.Status.Parts.Names = []string{} }},
		"an empty spec":  {have: `{}`, spec: true, change: func(o *whole) { o.Spec.Names = []string{} }},
		"a key":          {have: `{"status":{"count":1}}`, change: func(o *whole) { o.Status.Parts.Seen = map[string]struct{}{"a": {}} }, want: `"status":{"parts":{"seen":{"a":{}}}}`},
		"the first key":  {have: `{}`, change: func(o *whole) { o.Status = &status{Parts: parts{Seen: map[string]struct{}{"a": {}}}} }, want: `"status":{"parts":{"seen":{"a":{}}}}`},
		"parts that end": {have: `{"status":{"parts":{"names":["a"]}}}`, change: func(o *whole) { o.Status.Parts.Names = []string{} }, want: `"status":{"parts":{"names":null}}`},
	} {
		t.Run(name, func(t *testing.T) {
			server := newWire(t)
			server.answer = `{"metadata":{"name":"g","resourceVersion":"8"}}`
			have := &whole{}
			must.OK(t, json.Unmarshal([]byte(tt.have), have))
			have.Name, have.ResourceVersion = "g", "7"
			w := newWriter[*whole](t, server.Client, gadgets, writer.Options{})
			modify := w.ModifyStatus
			if tt.spec {
				modify = w.Modify
			}
			got, err := modify(t.Context(), have, tt.change)
			must.OK(t, err)
			if tt.want == "" && (got != have || len(server.requests) > 0) || tt.want != "" && !strings.HasSuffix(strings.Join(server.requests, " "), `json {"metadata":{"resourceVersion":"7"},`+tt.want+`}`) {
				t.Errorf("sent %q, want %s", server.requests, tt.want)
			}
		})
	}
}

// unfaithful loses a member when it is encoded and decoded.
type unfaithful struct {
	metav1.ObjectMeta `json:"metadata"`

	Secret secret `json:"secret"`
}

type secret string

func (s secret) MarshalText() ([]byte, error) { return []byte("*" + s), nil }

// A struct that embeds an object with a DeepCopyObject has that method, too, but the copy is of the
// other type.
type wrapped struct {
	*metav1.PartialObjectMetadata

	More int `json:"more"`
}

func TestPatchRefuses(t *testing.T) {
	server := newWire(t)
	w := newWriter[*gadget](t, server.Client, gadgets, writer.Options{})
	_, err := w.Modify(t.Context(), &gadget{ObjectMeta: metav1.ObjectMeta{Name: "g"}}, func(*gadget) {})
	wantError(t, err, "patch gadgets.example.com g: the object has no resourceVersion, so what others have written meanwhile would be lost: patch an object that was read")
	_, err = w.Modify(t.Context(), nil, func(*gadget) {})
	wantError(t, err, "patch gadgets.example.com: key of a *writer_test.gadget: panic")
	_, err = newWriter[*unfaithful](t, server.Client, gadgets, writer.Options{}).Modify(t.Context(),
		&unfaithful{ObjectMeta: metav1.ObjectMeta{Name: "u", ResourceVersion: "7"}, Secret: "x"}, func(u *unfaithful) { u.Secret = "y" })
	wantError(t, err, "patch gadgets.example.com u: a *writer_test.unfaithful is another object when it was encoded as JSON and decoded again: give it a method DeepCopyObject, or use MergePatch")
	if len(server.requests) > 0 {
		t.Errorf("sent %q", server.requests)
	}
}

func TestPatchOfAnEmbeddedObject(t *testing.T) {
	var _ runtime.Object = wrapped{}
	server := newWire(t)
	server.answer = `{"kind":"Gadget","apiVersion":"example.com/v1","metadata":{"name":"g","resourceVersion":"8"}}`
	have := &wrapped{PartialObjectMetadata: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "g", ResourceVersion: "7"}}}
	w := newWriter[*wrapped](t, server.Client, gadgets, writer.Options{})
	if _, err := w.Modify(t.Context(), have, func(o *wrapped) { o.More = 1 }); err != nil {
		t.Error(err)
	}
	if want := `{"metadata":{"resourceVersion":"7"},"more":1}`; len(server.requests) != 1 || !strings.HasSuffix(server.requests[0], want) || have.More != 0 {
		t.Errorf("sent %q, want %s", server.requests, want)
	}
}

// An object is made and changed in steps, and somebody else writes between two of them.
func TestPatches(t *testing.T) {
	_, client := serve(t)
	w := newWriter[*Deployment](t, client, deployments, writer.Options{FieldManager: "me"})
	ctx, ok := t.Context(), must.Get[*Deployment](t)
	made := ok(w.CreateFrom(ctx, metav1.ObjectMeta{Namespace: "shop", Name: "web"}, func(d *Deployment) { d.Spec.Replicas = 2 }))
	if _, err := w.CreateFrom(ctx, metav1.ObjectMeta{Namespace: "shop", Name: "web"}, func(*Deployment) {}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second one: %v", err)
	}
	ok(w.MergePatch(ctx, "shop/web", []byte(`{"spec":{"paused":true}}`)))
	if _, err := w.Modify(ctx, made, func(d *Deployment) { d.Spec.Replicas = 3 }); !apierrors.IsConflict(err) {
		t.Errorf("a patch of an older state: %v", err)
	}
	kindless := deployments
	kindless.Kind = ""
	whole := newWriter[*unstructured.Unstructured](t, client, kindless, writer.Options{})
	now := must.Get[*unstructured.Unstructured](t)(whole.MergePatch(ctx, "shop/web", []byte(`{}`)))
	now = must.Get[*unstructured.Unstructured](t)(whole.Modify(ctx, now, func(o *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(o.Object, int64(4), "spec", "replicas"); err != nil {
			t.Error(err)
		}
	}))
	spec, _, err := unstructured.NestedMap(now.Object, "spec")
	if diff := cmp.Diff(map[string]any{"replicas": int64(4), "paused": true}, spec); diff != "" || err != nil {
		t.Errorf("spec (-want +got):\n%s%v", diff, err)
	}
	_, err = whole.CreateFrom(ctx, metav1.ObjectMeta{Name: "b"}, func(*unstructured.Unstructured) {})
	wantError(t, err, "create deployments.apps b: the object has no kind: give it one, or set Kind of the object.Type")
}

// pod knows two fields of a container.
type pod struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Containers []container `json:"containers"`
	} `json:"spec"`
}

type container struct {
	Name      string   `json:"name,omitempty"`
	Image     string   `json:"image"`
	Resources requests `json:"resources,omitzero"`
}

// requests is all that the type knows of the resources of a container, which have limits, too.
type requests struct {
	CPU string `json:"cpu,omitempty"`
}

// Fields that the type lacks stay, also in the items of a list. FuzzPatch has all changes that the
// type can tell apart; these are what it has not, and the requests.
func TestPatchKeepsTheFieldsOfItems(t *testing.T) {
	type C = container
	limits := map[string]any{"cpu": "1", "n": int64(9007199254740993)}
	limited := func(name, image string) map[string]any {
		return map[string]any{"name": name, "image": image, "resources": map[string]any{"limits": limits}}
	}
	numbered := func(image string, port int64) map[string]any { return map[string]any{"image": image, "port": port} }
	nameless := func(image string) map[string]any { return numbered(image, 80) }
	for name, tt := range map[string]struct {
		items  []any
		change func(p *pod)
		want   []any
		writes int
	}{
		"an image":            {[]any{limited("a", "1")}, func(p *pod) { p.Spec.Containers[0].Image = "2" }, []any{limited("a", "2")}, 2},
		"one less":            {[]any{limited("a", "1"), limited("b", "1")}, func(p *pod) { p.Spec.Containers = []C{{Name: "b", Image: "1"}} }, []any{limited("b", "1")}, 2},
		"none":                {[]any{limited("a", "1")}, func(p *pod) { p.Spec.Containers = nil }, nil, 1},
		"the same":            {[]any{limited("a", "1")}, func(p *pod) { p.Spec.Containers = []C{{Name: "a", Image: "1"}} }, []any{limited("a", "1")}, 0},
		"items without names": {[]any{nameless("1"), nameless("2")}, func(p *pod) { p.Spec.Containers[1].Image = "3" }, []any{nameless("1"), nameless("3")}, 2},
		"one less, without fields that the type lacks, and another is changed": {
			[]any{map[string]any{"image": "1"}, map[string]any{"image": "2"}},
			func(p *pod) { p.Spec.Containers = []C{{Image: "3"}} },
			[]any{map[string]any{"image": "3"}},
			2,
		},
		"one of two that are the same": {
			[]any{nameless("1"), nameless("1")},
			func(p *pod) { p.Spec.Containers = p.Spec.Containers[1:] },
			[]any{nameless("1")},
			2,
		},
		"another field, a map": {[]any{limited("a", "1")}, func(p *pod) { p.Labels = map[string]string{"a": "b"} }, []any{limited("a", "1")}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var writes atomic.Int64
			server, url := apitest.Start(t, apitest.Options{Log: func(r apitest.LoggedRequest) {
				if r.Method == http.MethodPatch {
					writes.Add(1)
				}
			}})
			client := must.Get[*transport.Client](t)(transport.NewClient(transport.Config{Server: url}))
			t.Cleanup(client.Close)
			must.Get[string](t)(server.Create("deployments.apps", map[string]any{
				"metadata": map[string]any{"namespace": "shop", "name": "web"}, "spec": map[string]any{"containers": tt.items, "paused": true},
			}))
			w := newWriter[*pod](t, client, deployments, writer.Options{})
			have := must.Get[*pod](t)(w.MergePatch(t.Context(), "shop/web", []byte(`{}`)))
			writes.Store(0)
			must.Get[*pod](t)(w.Modify(t.Context(), have, tt.change))
			if n := writes.Load(); n != int64(tt.writes) {
				t.Errorf("%d requests, want %d", n, tt.writes)
			}
			got := must.Get[map[string]any](t)(server.Get("deployments.apps", "shop", "web"))
			want := map[string]any{"paused": true}
			if tt.want != nil {
				want["containers"] = tt.want
			}
			if diff := cmp.Diff(want, got["spec"]); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

// Where items without names cannot be matched, fields that the type lacks would be lost, or would
// go to another item. So nothing is sent.
func TestPatchRefusesItemsThatCannotBeMatched(t *testing.T) {
	for name, tt := range map[string]struct {
		images string
		change func(items []container) []container
	}{
		"one is changed, and one added":             {"12", func(l []container) []container { l[0].Image = "3"; return append(l, container{Image: "4"}) }},
		"one is changed, and another removed":       {"123", func(l []container) []container { l[0].Image = "4"; return l[:2] }},
		"one of two that look alike is removed":     {"11", func(l []container) []container { return l[1:] }},
		"one is changed, and two change places":     {"12", func(l []container) []container { l[1].Image = "3"; slices.Reverse(l); return l }},
		"one is changed to what another was before": {"12", func(l []container) []container { l[0].Image, l[1].Image = "2", "3"; return l }},
	} {
		t.Run(name, func(t *testing.T) {
			server := newWire(t)
			have := &pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", ResourceVersion: "7"}}
			var items []string
			for i, image := range strings.Split(tt.images, "") {
				have.Spec.Containers = append(have.Spec.Containers, container{Image: image})
				items = append(items, fmt.Sprintf(`{"image":%q,"port":%d}`, image, i))
			}
			server.answer = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"namespace":"shop","name":"web","resourceVersion":"7"},"spec":{"containers":[` + strings.Join(items, ",") + `]}}`
			_, err := newWriter[*pod](t, server.Client, deployments, writer.Options{}).Modify(t.Context(), have, func(p *pod) {
				p.Spec.Containers = tt.change(p.Spec.Containers)
			})
			wantError(t, err, "patch deployments.apps shop/web: the items of spec.containers have no names, and it is not clear which of them are still there: "+
				"change items, and add or remove others, in separate calls, or use MergePatch")
			if want := `{"metadata":{"resourceVersion":"7"}}`; len(server.requests) != 1 || !strings.HasSuffix(server.requests[0], want) {
				t.Errorf("sent %q, want only the request that changes nothing", server.requests)
			}
		})
	}
}

// A list may have lists of objects.
func TestPatchKeepsTheFieldsOfItemsOfItems(t *testing.T) {
	type shelf struct {
		metav1.ObjectMeta `json:"metadata"`

		Rows [][]*container `json:"rows"`
	}
	server := newWire(t)
	server.answer = `{"kind":"Gadget","apiVersion":"example.com/v1","metadata":{"name":"s","resourceVersion":"7"},"rows":[[null],[{"image":"1","port":80}]]}`
	have := &shelf{ObjectMeta: metav1.ObjectMeta{Name: "s", ResourceVersion: "7"}, Rows: [][]*container{{nil}, {{Image: "1"}}}}
	w := newWriter[*shelf](t, server.Client, gadgets, writer.Options{})
	must.Get[*shelf](t)(w.Modify(t.Context(), have, func(s *shelf) { s.Rows[1][0].Image = "2" }))
	if want := `{"metadata":{"resourceVersion":"7"},"rows":[[null],[{"image":"2","port":80}]]}`; len(server.requests) != 2 || !strings.HasSuffix(server.requests[1], want) {
		t.Errorf("sent %q, want %s", server.requests, want)
	}
}

// A type that has every field costs no second request, and an object that has changed is a conflict
// before anything is written.
func TestPatchOfItemsAtAnotherVersion(t *testing.T) {
	server := newWire(t)
	server.answer = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"namespace":"shop","name":"web","resourceVersion":"8"},"spec":{"containers":[]}}`
	have := &pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", ResourceVersion: "7"}}
	have.Spec.Containers = []container{{Name: "a", Image: "1"}}
	change := func(p *pod) { p.Spec.Containers[0].Image = "2" }
	_, err := newWriter[*pod](t, server.Client, deployments, writer.Options{}).Modify(t.Context(), have, change)
	wantError(t, err, "patch deployments.apps shop/web: ")
	if want := `{"metadata":{"resourceVersion":"7"}}`; !apierrors.IsConflict(err) || len(server.requests) != 1 || !strings.HasSuffix(server.requests[0], want) {
		t.Errorf("%v, after %q; want a conflict after %s", err, server.requests, want)
	}
	server.requests = nil
	must.Get[*pod](t)(newWriter[*pod](t, server.Client, deployments, writer.Options{Complete: true}).Modify(t.Context(), have, change))
	if want := `{"metadata":{"resourceVersion":"7"},"spec":{"containers":[{"image":"2","name":"a"}]}}`; len(server.requests) != 1 || !strings.HasSuffix(server.requests[0], want) {
		t.Errorf("sent %q, want %s", server.requests, want)
	}
}

// thin has only what an object.Object needs.
type thin struct {
	Metadata struct {
		Namespace       string `json:"namespace"`
		Name            string `json:"name"`
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
}

func (s *thin) GetNamespace() string       { return s.Metadata.Namespace }
func (s *thin) GetName() string            { return s.Metadata.Name }
func (s *thin) GetUID() types.UID          { return types.UID(s.Metadata.UID) }
func (s *thin) GetResourceVersion() string { return s.Metadata.ResourceVersion }

// An object is not made without its owner because the type has no field for one.
func TestCreateFromOfAThinType(t *testing.T) {
	server := newWire(t)
	w := newWriter[*thin](t, server.Client, deployments, writer.Options{})
	_, err := w.CreateFrom(t.Context(), metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: map[string]string{"a": "b"}}, func(*thin) {})
	wantError(t, err, "create deployments.apps shop/web: a *writer_test.thin does not keep metadata.labels, so the object would be created without it: embed metav1.ObjectMeta")
	if len(server.requests) > 0 {
		t.Errorf("sent %q", server.requests)
	}
	if _, err := w.CreateFrom(t.Context(), metav1.ObjectMeta{Namespace: "shop", Name: "web"}, func(*thin) {}); err != nil {
		t.Error(err)
	}
}
