package decode

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/internal/podlist"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

var (
	scheme = runtime.NewScheme()
	pods   = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	codecs []codec
)

// codec is an encoding, and apimachinery's serializer of it.
type codec struct {
	name, mediaType string
	encoding        listwatch.Encoding
	serializer      runtime.Serializer
}

func init() {
	if err := corev1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	codecs = []codec{
		{"JSON", "application/json", listwatch.JSON, jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, scheme, scheme, jsonserializer.SerializerOptions{})},
		{"protobuf", "application/vnd.kubernetes.protobuf", listwatch.Auto, protobuf.NewSerializer(scheme, scheme)},
	}
}

// realPods are 300 that a kube-apiserver sent.
func realPods(t testing.TB) *corev1.PodList {
	t.Helper()
	list := &corev1.PodList{}
	must.OK(t, json.Unmarshal(podlist.Text(t), list))
	return list
}

// encode is what a kube-apiserver sends of an object.
func (f codec) encode(t testing.TB, obj runtime.Object) []byte {
	t.Helper()
	var b bytes.Buffer
	must.OK(t, f.serializer.Encode(obj, &b))
	return b.Bytes()
}

// list reads a list by package listwatch.
func list[T object.Object](t testing.TB, f codec, body []byte) *source.Page[T] {
	t.Helper()
	return listWith(t, f, body, listwatch.Options[T]{})
}

// listWith reads a list by package listwatch, with options.
func listWith[T object.Object](t testing.TB, f codec, body []byte, opts listwatch.Options[T]) *source.Page[T] {
	t.Helper()
	opts.Encoding = f.encoding
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", f.mediaType)
		_, _ = w.Write(body)
	}))
	defer server.Close()
	client, err := transport.NewClient(transport.Config{Server: server.URL})
	must.OK(t, err)
	defer client.Close()
	r, err := listwatch.New(client, pods, opts)
	must.OK(t, err)
	page, err := r.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("%s: %v", f.name, err)
	}
	for _, bad := range page.Errors {
		t.Errorf("%s: %v", f.name, bad)
	}
	return page
}

// TestRealPods: the same in each encoding, as apimachinery has it.
func TestRealPods(t *testing.T) {
	pods := realPods(t)
	pods.Kind, pods.APIVersion, pods.ResourceVersion = "PodList", "v1", "77"
	for _, f := range codecs {
		page := list[*corev1.Pod](t, f, f.encode(t, pods))
		if len(page.Items) != len(pods.Items) || page.ResourceVersion != "77" {
			t.Fatalf("%s: %d pods at %s", f.name, len(page.Items), page.ResourceVersion)
		}
		for i, pod := range page.Items {
			// Quantities remember how they were written, which is no difference.
			if diff := cmp.Diff(text(t, &pods.Items[i]), text(t, pod)); diff != "" {
				t.Fatalf("%s: pod %s differs (-apimachinery +relist):\n%s", f.name, pod.Name, diff)
			}
		}
		partial := list[*metav1.PartialObjectMetadata](t, f, f.encode(t, pods))
		for i, item := range partial.Items {
			if diff := cmp.Diff(pods.Items[i].ObjectMeta, item.ObjectMeta); diff != "" {
				t.Fatalf("%s: metadata differs (-apimachinery +relist):\n%s", f.name, diff)
			}
		}
	}
}

func text(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must.OK(t, err)
	return string(b)
}
