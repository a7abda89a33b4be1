package listwatch

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/object"
)

// nested returns an object of so many levels.
func nested(name string, levels int) string {
	inside := strings.Repeat("[", levels-2) + strings.Repeat("]", levels-2)
	return fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%q,"uid":"u","resourceVersion":"7"},"x":{"y":%s}}`, name, inside)
}

// An object that is nested too deeply for a decoder is one bad object, of a list and of a watch. What a decoder accepts in a list, it
// accepts in an event, too.
func TestDepthOfObjects(t *testing.T) {
	t.Run("struct", testDepth[*configMap])
	t.Run("unstructured", testDepth[*unstructured.Unstructured])
	t.Run("raw", testDepth[*Raw])
}

func testDepth[T object.Object](t *testing.T) {
	const most, hostile = 10_000, 1_000_000
	deepest, tooDeep, good := nested("deepest", most), nested("bad", hostile), nested("good", 3)

	list := body(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[` + strings.Join([]string{deepest, tooDeep, good}, ",") + `]}`)
	page, err := mustNew(t, serve(t, list), Options[T]{}).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("%.300v", err)
	}
	var names, bad []string
	for _, item := range page.Items {
		names = append(names, item.GetName())
	}
	for _, item := range page.Errors {
		bad = append(bad, fmt.Sprintf("%s %t", item.Meta.Key, strings.Contains(item.Error(), "nested deeper than 10000") || strings.Contains(item.Error(), "max depth")))
	}
	if diff := cmp.Diff([]string{"deepest", "good"}, names); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"shop/bad true"}, bad); diff != "" {
		t.Errorf("bad items (-want +got):\n%s", diff)
	}

	for _, envelope := range []string{`{"type":"ADDED","object":%s}`, `{"object":%s,"type":"ADDED"}`, `{"type":"ADDED","more":1,"object":%s}`} {
		var stream strings.Builder
		for _, obj := range []string{deepest, tooDeep, good} {
			fmt.Fprintf(&stream, envelope+"\n", obj)
		}
		events, err := readAll(t, mustNew(t, serve(t, body(stream.String())), Options[T]{}))
		if !errors.Is(err, io.EOF) {
			t.Errorf("the watch of %s has ended with %.300v", envelope, err)
		}
		if diff := cmp.Diff([]string{"ADDED shop/deepest@7", "ADDED shop/bad@7 (bad)", "ADDED shop/good@7"}, events); diff != "" {
			t.Errorf("events %s (-want +got):\n%s", envelope, diff)
		}
	}
}
