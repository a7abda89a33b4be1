package cbor

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
)

// nested returns an object of so many levels.
func nested(name string, levels int) string {
	return fmt.Sprintf("\xa2\x68metadata\xa3\x64name%c%s\x63uid\x61u\x6fresourceVersion\x617\x61x\xa1\x61y%s\x80", rune(0x60+len(name)), name, strings.Repeat("\x81", levels-3))
}

// An object that is nested too deeply for a decoder is one bad object, of a list and of a
// watch, as in JSON.
func TestDepthOfObjects(t *testing.T) {
	t.Run("struct", testDepth[*configMap])
	t.Run("unstructured", testDepth[*unstructured.Unstructured])
	t.Run("raw", testDepth[*listwatch.Raw])
}

func testDepth[T object.Object](t *testing.T) {
	const most, hostile = 10_000, 1_000_000
	objects := []string{nested("deepest", most), nested("bad", most+1), nested("hostile", hostile), nested("good", 3)}
	list := "\xa2\x64kind\x6dConfigMapList\x65items\x84" + strings.Join(objects, "")
	stream := ""
	for _, obj := range objects {
		stream += "\xa2\x66object" + obj + "\x64type\x65ADDED"
	}
	r := resource[T](t, serve(t, list, stream))

	page, err := r.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("%.300v", err)
	}
	var got []string
	for _, item := range page.Items {
		got = append(got, item.GetName())
	}
	for _, item := range page.Errors {
		got = append(got, fmt.Sprintf("%s %t", item.Meta.Key, tooDeep(item)))
	}
	if diff := cmp.Diff([]string{"deepest", "good", "bad true", "hostile true"}, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}

	watch, err := r.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	got = nil
	for {
		e, err := watch.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("the watch has ended with %.300v", err)
			}
			break
		}
		got = append(got, fmt.Sprintf("%s %t", e.Meta.Key, e.Err != nil && tooDeep(e.Err)))
	}
	if diff := cmp.Diff([]string{"deepest false", "bad true", "hostile true", "good false"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func tooDeep(err error) bool {
	return strings.Contains(err.Error(), "nested deeper than 10000") || strings.Contains(err.Error(), "max depth")
}
