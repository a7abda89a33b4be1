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
	"github.com/relist-go/relist/transport"
)

// depths are lists and watches of objects that are nested as deeply as a decoder goes, a level
// deeper, 100,000 levels, and not.
func depths() []wireFormat {
	const most = 10_000
	each := func(object func(name string, levels int) string) (objects []string) {
		for _, o := range []struct {
			name   string
			levels int
		}{{"deepest", most}, {"bad", most + 1}, {"hostile", 100_000}, {"good", 3}} {
			objects = append(objects, object(o.name, o.levels))
		}
		return objects
	}
	inJSON := each(func(name string, levels int) string {
		inside := strings.Repeat("[", levels-2) + strings.Repeat("]", levels-2)
		return fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%q,"uid":"u","resourceVersion":"7"},"x":{"y":%s}}`, name, inside)
	})
	stream := func(envelope string, objects []string) string {
		var all strings.Builder
		for _, obj := range objects {
			fmt.Fprintf(&all, envelope, obj)
		}
		return all.String()
	}
	list := `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[` + strings.Join(inJSON, ",") + `]}`
	fixed := func(encoding Encoding, list, stream string) wireFormat {
		return wireFormat{
			Encoding: encoding,
			list:     func(...string) string { return list },
			event:    func(string, sample) string { return stream },
		}
	}
	return []wireFormat{
		fixed(JSON, list, stream(`{"type":"ADDED","object":%s}`, inJSON)),
		fixed(JSON, list, stream(`{"object":%s,"type":"ADDED"}`, inJSON)),
		fixed(JSON, list, stream(`{"type":"ADDED","more":1,"object":%s}`, inJSON)),
	}
}

// An object that is nested too deeply for a decoder is one bad object, of a list and of a watch.
// What a decoder accepts in a list, it accepts in an event, too.
func TestDepthOfObjects(t *testing.T) {
	for i, f := range depths() {
		t.Run(fmt.Sprint(f.MediaType(), " ", i), func(t *testing.T) {
			t.Run("struct", func(t *testing.T) { testDepth[*configMap](t, f) })
			t.Run("unstructured", func(t *testing.T) { testDepth[*unstructured.Unstructured](t, f) })
			t.Run("raw", func(t *testing.T) { testDepth[*Raw](t, f) })
		})
	}
}

func testDepth[T object.Object](t *testing.T, f wireFormat) {
	r := mustNew(t, f.server(t, transport.Config{}, f.list(), f.event("", sample{})), Options[T]{Encoding: f.Encoding})
	page, err := r.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("%.300v", err)
	}
	var got []string
	for _, item := range page.Items {
		got = append(got, item.GetName())
	}
	for _, item := range page.Errors {
		got = append(got, fmt.Sprintf("%s %t", item.Meta.Key, strings.Contains(item.Error(), "nested deeper than 10000") || strings.Contains(item.Error(), "max depth")))
	}
	if diff := cmp.Diff([]string{"deepest", "good", "shop/bad true", "shop/hostile true"}, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	events, err := readAll(t, r)
	if !errors.Is(err, io.EOF) {
		t.Errorf("the watch has ended with %.300v", err)
	}
	if diff := cmp.Diff([]string{"ADDED shop/deepest@7", "ADDED shop/bad@7 (bad)", "ADDED shop/hostile@7 (bad)", "ADDED shop/good@7"}, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
