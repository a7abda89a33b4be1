package listwatch

import (
	"bytes"
	"io"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// FuzzPage feeds bodies to the list reader. A body that the reader accepts must
// be a complete list.
func FuzzPage(f *testing.F) {
	f.Add([]byte(`{"kind":"ConfigMapList","metadata":{"resourceVersion":"9","continue":"c"},"items":[` + objectJSON + `,null]}`))
	f.Add([]byte(`{"items":[{"metadata":{"name":"a"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := newDecoder[*configMap](nil, nil, false, JSON)
		must.OK(t, err)
		page, err := decodePage(&transport.Response{Body: io.NopCloser(bytes.NewReader(data)), MediaType: JSON.MediaType()}, d, pageOptions[*configMap]{})
		if (page == nil) == (err == nil) {
			t.Fatalf("page %v with error %v", page, err)
		}
		if err != nil {
			return
		}
		for _, item := range page.Items {
			if item == nil || item.Name == "" {
				t.Fatalf("%q has the item %+v", data, item)
			}
		}
	})
}

// FuzzFrame feeds frames to the watch. The quick split of an envelope must
// agree with the parser.
func FuzzFrame(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":` + objectJSON + `}`))
	f.Add([]byte(`{"type":"ADDED","object":{"metadata":{"name":"a"}},"type":"DELETED"}`))
	f.Add([]byte(`{"type":"ERROR","object":{"kind":"Status","code":410}}`))
	unmarshal, err := JSON.Unmarshaler(reflect.TypeFor[*unstructured.Unstructured](), format.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := newDecoder[*unstructured.Unstructured](nil, nil, false, JSON)
		must.OK(t, err)
		w := &watch[*unstructured.Unstructured]{what: "things", decoder: d, encoding: d.encodings[0]}
		event, err := w.decode(transport.Frame{Data: data})
		word, raw, parseErr := JSON.SplitEvent(data, true)
		if parseErr != nil {
			if err == nil && event.Err == nil {
				t.Fatalf("%q is no envelope, and gave %+v", data, event)
			}
			return
		}
		if err != nil {
			return
		}
		if event.Type.String() != word {
			t.Fatalf("%q has type %s, got %v", data, word, event.Type)
		}
		if event.Type == object.Bookmark || event.Err != nil {
			return
		}
		var want *unstructured.Unstructured
		if err := unmarshal(raw, &want); err != nil {
			t.Fatalf("%q gave %+v, parsed it is %v", data, event, err)
		}
		if diff := cmp.Diff(want.Object, event.Object.Object); diff != "" {
			t.Fatalf("%q differs (-parsed +split):\n%s", data, diff)
		}
	})
}
