package listwatch

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/object"
)

// manyObjects and objectBytes are a list of 8 MB.
const (
	manyObjects = 2000
	objectBytes = 4000
)

// serveMany answers with a list, and neither side has to hold all of it.
func serveMany(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[`)
	half := strings.Repeat("x", objectBytes/2)
	for i := range manyObjects {
		if i > 0 {
			_, _ = io.WriteString(w, ",")
		}
		_, _ = fmt.Fprintf(w, `{"metadata":{"name":"object-%05d","namespace":"n","uid":"u-%d","resourceVersion":"5","annotations":{"half":"`, i, i)
		_, _ = io.WriteString(w, half+`"}},"data":{"half":"`+half+`"}}`)
	}
	_, _ = io.WriteString(w, `]}`)
}

// A program that keeps one object in a hundred must not keep the others alive:
// objects share no array, and no name points into a buffer.
// https://github.com/kubernetes/kubernetes/issues/111370
func TestSurvivorsPinNothing(t *testing.T) {
	t.Run("struct", func(t *testing.T) { survivorsPinNothing[*configMap](t) })
	t.Run("unstructured", func(t *testing.T) { survivorsPinNothing[*unstructured.Unstructured](t) })
	t.Run("metadata", func(t *testing.T) { survivorsPinNothing[*metav1.PartialObjectMetadata](t) })
}

func survivorsPinNothing[T object.Object](t *testing.T) {
	resource := mustNew(t, serve(t, serveMany), Options[T]{})
	before := liveHeap()
	page, err := resource.List(t.Context(), metav1.ListOptions{})
	must.OK(t, err)
	if len(page.Items) != manyObjects {
		t.Fatalf("%d objects, want %d", len(page.Items), manyObjects)
	}
	var survivors []T
	var names []string
	for i, obj := range page.Items {
		names = append(names, obj.GetName())
		if i%100 == 0 {
			survivors = append(survivors, obj)
		}
	}
	page = nil
	const bound = manyObjects/100*objectBytes*3/2 + // 1.5 times what survives
		manyObjects*64 + // names
		1<<20 // connections, the decoder's buffers
	if grown := liveHeap() - before; grown > bound {
		t.Errorf("%d objects and %d names keep %d bytes alive, want at most %d", len(survivors), len(names), grown, bound)
	}
	runtime.KeepAlive(survivors)
	runtime.KeepAlive(names)
	runtime.KeepAlive(page)
}

// liveHeap returns the bytes that are in use after a collection.
func liveHeap() int {
	runtime.GC()
	runtime.GC() // what sync.Pool holds goes at the second
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}
