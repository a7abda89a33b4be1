package listwatch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// knownFrom returns what a caller that holds these objects tells of them.
func knownFrom(held ...*configMap) func(key string) (*configMap, object.Meta, bool) {
	return func(key string) (*configMap, object.Meta, bool) {
		for _, obj := range held {
			if object.Key(obj) == key {
				return obj, object.Meta{Key: key, UID: obj.UID, ResourceVersion: obj.ResourceVersion}, true
			}
		}
		return nil, object.Meta{}, false
	}
}

func TestKnownObjectsAreNotDecodedAgain(t *testing.T) {
	held := &configMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "u", ResourceVersion: "5"}}
	for name, test := range map[string]struct {
		item string
		want bool
	}{
		"the same version":        {`{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"5"},"data":{"k":"v"}}`, true},
		"another version":         {`{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"6"}}`, false},
		"another object":          {`{"metadata":{"name":"a","namespace":"n","uid":"w","resourceVersion":"5"}}`, false},
		"another name":            {`{"metadata":{"name":"b","namespace":"n","uid":"u","resourceVersion":"5"}}`, false},
		"no version":              {`{"metadata":{"name":"a","namespace":"n","uid":"u"}}`, false},
		"a version of no string":  {`{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":5}}`, false},
		"of an object that broke": {`{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"5"},"data":7}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			transformed := 0
			r := mustNew(t, serve(t, body(`{"kind":"ConfigMapList","metadata":{"resourceVersion":"9"},"items":[`+test.item+`]}`)),
				Options[*configMap]{Transform: func(c *configMap) (*configMap, error) { transformed++; return c, nil }})
			var items []*configMap
			_, err := source.EachKnown(t.Context(), r, metav1.ListOptions{}, knownFrom(held), func(p source.Part[*configMap]) error {
				items = append(items, p.Items...)
				return nil
			})
			must.OK(t, err)
			reused := len(items) == 1 && items[0] == held
			if reused != test.want {
				t.Errorf("reused: %v, want %v", reused, test.want)
			}
			if reused && transformed > 0 {
				t.Error("a known object was transformed again")
			}
		})
	}
}

// If a ListWatcher cannot take objects from its caller, EachKnown hands over its pages unchanged.
func TestEachKnownWithoutListParts(t *testing.T) {
	r := mustNew(t, serve(t, body(`{"kind":"ConfigMapList","items":[`+objectJSON+`]}`)), Options[*configMap]{})
	held := &configMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "u", ResourceVersion: "5"}}
	var items []*configMap
	_, err := source.EachKnown(t.Context(), struct{ source.ListWatcher[*configMap] }{r}, metav1.ListOptions{}, knownFrom(held), func(p source.Part[*configMap]) error {
		items = append(items, p.Items...)
		return nil
	})
	if err != nil || len(items) != 1 || items[0] == held {
		t.Errorf("got %+v, %v", items, err)
	}
}

// If every object of a list is known, the list costs one allocation for each item: its
// key.
func TestKnownItemsAllocateNextToNothing(t *testing.T) {
	const items = 1000
	var text bytes.Buffer
	text.WriteString(`{"kind":"ConfigMapList","metadata":{"resourceVersion":"9"},"items":[`)
	held := make(map[string]*configMap, items)
	for i := range items {
		if i > 0 {
			text.WriteByte(',')
		}
		obj := &configMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: fmt.Sprint("object-", i), UID: "u", ResourceVersion: fmt.Sprint(i + 1)}}
		held[object.Key(obj)] = obj
		fmt.Fprintf(&text, `{"metadata":{"name":%q,"namespace":"n","uid":"u","resourceVersion":%q,"labels":{"app":"web","tier":"front"}},"data":{"k":"v"}}`, obj.Name, obj.ResourceVersion)
	}
	text.WriteString(`]}`)
	known := func(key string) (*configMap, object.Meta, bool) {
		obj, ok := held[key]
		return obj, object.Meta{Key: key, UID: obj.UID, ResourceVersion: obj.ResourceVersion}, ok
	}
	d, err := newDecoder[*configMap](nil, nil, false, JSON)
	must.OK(t, err)
	allocations := testing.AllocsPerRun(10, func() {
		page, err := decodePage(&transport.Response{Body: io.NopCloser(bytes.NewReader(text.Bytes())), MediaType: JSON.MediaType()}, d, pageOptions[*configMap]{known: known})
		if err != nil || len(page.Items) != items || page.Items[0] != held["n/object-0"] {
			t.Fatalf("%+v, %v", page, err)
		}
	})
	if allocations > items+100 {
		t.Errorf("%v allocations for %d items", allocations, items)
	}
}

// If an item is taken for a known object, the key that known was asked for is the key that
// the decoded item has, however the item's JSON is written. The test leaves out members
// that stand twice, because no server writes them.
func FuzzKnown(f *testing.F) {
	f.Add([]byte(objectJSON))
	f.Add([]byte(`{"spec":{"metadata":{"uid":"x"}},"metadata":{"labels":{"uid":"y"},"uid":"u","name":"a","resourceVersion":"5"}}`))
	f.Fuzz(func(t *testing.T, item []byte) {
		d, err := newDecoder[*metav1.PartialObjectMetadata](nil, nil, false, JSON)
		must.OK(t, err)
		obj, meta, bad := d.decode(d.encodings[0], item, itemKind(metav1.TypeMeta{}, ""))
		if bad != nil || !jsontext.Value(item).IsValid() {
			return
		}
		asked := object.Meta{}
		_, _, ok := reuse(d.encodings[0], item, func(key string) (*metav1.PartialObjectMetadata, object.Meta, bool) {
			asked.Key = key
			return obj, meta, true
		})
		if ok && asked.Key != meta.Key {
			t.Fatalf("%q is %s, and was taken for %s", item, meta.Key, asked.Key)
		}
	})
}

// overriding embeds a Client and declares its own List, which returns other
// objects.
type overriding struct{ *Client[*configMap] }

func (o *overriding) List(context.Context, metav1.ListOptions) (*source.Page[*configMap], error) {
	return &source.Page[*configMap]{Items: []*configMap{{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}}}, nil
}
