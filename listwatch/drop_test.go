package listwatch

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/must"
)

const fullJSON = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"5",` +
	`"annotations":{"a.b/c":"long","d":"kept"},"managedFields":[{"manager":"kubelet","fieldsV1":{"f:data":{}}}]},"data":{"k":"v"},"list":[{"x":1,"y":2},{"x":3}]}`

// A dropped member is in no object of a list, of a watch, or of a GET.
func TestDrop(t *testing.T) {
	drop := []string{"metadata.managedFields", `metadata.annotations.a\.b/c`, "list.x", "nothing.of.that.name"}
	want := map[string]any{
		"kind": "ConfigMap", "apiVersion": "v1",
		"metadata": map[string]any{
			"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "5",
			"annotations": map[string]any{"d": "kept"},
		},
		"data": map[string]any{"k": "v"},
		"list": []any{map[string]any{"y": int64(2)}, map[string]any{}},
	}
	for name, text := range map[string]string{
		"list":  `{"kind":"ConfigMapList","apiVersion":"v1","items":[` + fullJSON + `]}`,
		"watch": `{"type":"ADDED","object":` + fullJSON + `}`,
		"get":   fullJSON,
	} {
		t.Run(name, func(t *testing.T) {
			r := mustNew(t, serve(t, body(text)), Options[*unstructured.Unstructured]{Drop: drop})
			var got *unstructured.Unstructured
			switch name {
			case "list":
				page, err := r.List(t.Context(), metav1.ListOptions{})
				must.OK(t, err)
				got = page.Items[0]
			case "watch":
				watch, err := r.Watch(t.Context(), metav1.ListOptions{})
				must.OK(t, err)
				defer watch.Close()
				event, err := watch.Next()
				if err != nil || event.Err != nil {
					t.Fatal(err, event.Err)
				}
				got = event.Object
			default:
				var err error
				if got, _, err = r.Get(t.Context(), "n/a"); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, got.Object); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Requests for the metadata alone leave out the same metadata, in every encoding.
func TestDropOfMetadata(t *testing.T) {
	for name, encoding := range map[string]Encoding{"JSON": JSON, "protobuf": Protobuf} {
		var accept string
		client := serve(t, func(w http.ResponseWriter, req *http.Request) {
			accept = req.Header.Get("Accept")
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[`+fullJSON+`]}`)
		})
		r := mustNew(t, client, Options[*metav1.PartialObjectMetadata]{Encoding: encoding, Drop: []string{"metadata.managedFields", "metadata.annotations"}})
		r.opts.Drop = append(r.opts.Drop, "spec.x") // metadata have no such member, and no tag for it
		metadata, err := r.Metadata()
		if err != nil {
			t.Fatal(name, err)
		}
		page, err := metadata.List(t.Context(), metav1.ListOptions{})
		if err != nil || len(page.Items) != 1 || page.Items[0].ManagedFields != nil || page.Items[0].Annotations != nil {
			t.Errorf("%s: %+v, %v", name, page, err)
		}
		for clause := range strings.SplitSeq(accept, ",") {
			if !strings.HasSuffix(clause, withoutManaged) {
				t.Errorf("%s: Accept: %s", name, accept)
			}
		}
	}
}

// If a member that cannot be decoded is dropped, the object is used. If the
// member stays, the object is an error that still has the object's metadata.
func TestDropOfWhatCannotBeDecoded(t *testing.T) {
	const bad = `{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"5"},"data":7}`
	for drop, ok := range map[string]bool{"data": true, "other": false} {
		d, err := newDecoder[*configMap](nil, []string{drop}, false, JSON)
		must.OK(t, err)
		_, meta, problem := d.decode(d.encodings[0], []byte(bad), schema.GroupVersionKind{})
		if (problem == nil) != ok || meta.Key != "n/a" {
			t.Errorf("without %s: %v of %+v", drop, problem, meta)
		}
	}
}

func TestDropRefusesPaths(t *testing.T) {
	for path, want := range map[string]string{
		"":                         "a name is missing",
		"metadata..labels":         "a name is missing",
		`metadata.labels\x`:        "backslash",
		"metadata":                 "says which object it is",
		"metadata.resourceVersion": "says which object it is",
		"kind":                     "says which object it is",
	} {
		_, err := New(serve(t, nil), schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Options[*configMap]{Drop: []string{"data", path}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "listwatch: drop ") {
			t.Errorf("%q: error %v, want one with %q", path, err, want)
		}
	}
}
