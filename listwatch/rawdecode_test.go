package listwatch

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/internal/podlist"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// FuzzRawKind gives objects a kind as items of lists get one, in both ways. The result is the same
// object with that kind.
func FuzzRawKind(f *testing.F) {
	f.Add([]byte(objectJSON), "Pod", "v1")
	f.Add([]byte(` { "metadata" : {"name":"a"} } `), "\"<\xff", "a/b")
	f.Add([]byte(`{"a":[],"kind":null,"metadata":{"name":"a"}}`), "Pod", "v1")
	f.Add([]byte(`{"apiVersion":"v1","metadata":{"name":"a"},"kind":"Pod","x":"\u0000"}`), "", "")
	f.Fuzz(func(t *testing.T, data []byte, word, version string) {
		kind := schema.FromAPIVersionAndKind(version, word)
		var want map[string]any
		if json.Unmarshal(data, &want) != nil || want == nil {
			return
		}
		_, kinded := want["kind"]
		if _, versioned := want["apiVersion"]; !kinded && !versioned && !kind.Empty() {
			want["apiVersion"], want["kind"] = kind.ToAPIVersionAndKind()
			if text, err := json.Marshal(want); err != nil || json.Unmarshal(text, &want) != nil {
				return // a kind that is not UTF-8
			}
		}
		inFront := &Raw{}
		if inFront.parse(data, kind) != nil {
			return
		}
		moved := &Raw{}
		must.OK(t, moved.UnmarshalJSON(data))
		moved.putKindFirst(kind)
		for _, raw := range []*Raw{inFront, moved} {
			var got map[string]any
			if err := json.Unmarshal(raw.Bytes(), &got); err != nil {
				t.Fatalf("%q became %q: %v", data, raw.Bytes(), err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%q became %q (-want +got):\n%s", data, raw.Bytes(), diff)
			}
		}
		var partial struct {
			Metadata struct {
				Name            string `json:"name"`
				Namespace       string `json:"namespace"`
				UID             string `json:"uid"`
				ResourceVersion string `json:"resourceVersion"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(data, &partial); err != nil {
			t.Fatalf("%q was taken, but %v", data, err)
		}
		id, got := partial.Metadata, inFront
		if id.Name != got.GetName() || id.Namespace != got.GetNamespace() || id.UID != string(got.GetUID()) || id.ResourceVersion != got.GetResourceVersion() {
			t.Fatalf("%q is %+v, not %+v", data, got, id)
		}
	})
}

// BenchmarkRaw reads a list of 300 Pods. live-B/pod is what one that is kept takes.
func BenchmarkRaw(b *testing.B) {
	text := podlist.Text(b)
	b.Run("raw", func(b *testing.B) { benchmarkList[*Raw](b, text) })
	b.Run("unstructured", func(b *testing.B) { benchmarkList[*unstructured.Unstructured](b, text) })
}

func benchmarkList[T object.Object](b *testing.B, text []byte) {
	d, err := newDecoder[T](nil, nil, false, JSON)
	must.OK(b, err)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	var page *source.Page[T]
	for b.Loop() {
		if page, err = decodePage(&transport.Response{Body: io.NopCloser(bytes.NewReader(text)), MediaType: JSON.MediaType()}, d, pageOptions[T]{}); err != nil {
			b.Fatal(err)
		}
	}
	items := float64(len(page.Items))
	with := liveHeap()
	runtime.KeepAlive(page)
	page = nil
	b.ReportMetric((float64(with)-float64(liveHeap()))/items, "live-B/pod")
}
