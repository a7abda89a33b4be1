package listwatch

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
)

const objectJSON = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"5"},"data":{"k":"v"}}`

func decodeWith[T object.Object](t *testing.T, transform func(T) (T, error), data string) (T, object.Meta, *source.ObjectError) {
	t.Helper()
	d, err := newDecoder(transform, nil, false, JSON)
	must.OK(t, err)
	return d.decode(d.encodings[0], []byte(data), schema.GroupVersionKind{})
}

func TestStructsComeWithoutKind(t *testing.T) {
	obj, meta, bad := decodeWith[*configMap](t, nil, objectJSON)
	if bad != nil {
		t.Fatal(bad)
	}
	want := &configMap{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "n", UID: "u", ResourceVersion: "5"},
		Data:       map[string]string{"k": "v"},
	}
	if diff := cmp.Diff(want, obj); diff != "" {
		t.Errorf("object differs (-want +got):\n%s", diff)
	}
	if want := (object.Meta{Key: "n/a", UID: "u", ResourceVersion: "5"}); meta != want {
		t.Errorf("meta is %+v, want %+v", meta, want)
	}
}

func TestStructByValue(t *testing.T) {
	obj, _, bad := decodeWith[slimValue](t, nil, objectJSON)
	if bad != nil || obj.GetName() != "a" || obj.Kind != "" || obj.APIVersion != "" {
		t.Errorf("got %+v, %v", obj, bad)
	}
}

// slimValue has value receivers for its getters; metav1.ObjectMeta has pointer
// receivers.
type slimValue struct {
	metav1.TypeMeta `json:",inline"`

	Metadata struct {
		Name            string    `json:"name"`
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
	} `json:"metadata"`
}

func (s slimValue) GetNamespace() string       { return "" }
func (s slimValue) GetName() string            { return s.Metadata.Name }
func (s slimValue) GetUID() types.UID          { return s.Metadata.UID }
func (s slimValue) GetResourceVersion() string { return s.Metadata.ResourceVersion }

func TestMetaIsTakenBeforeTheTransform(t *testing.T) {
	strip := func(c *configMap) (*configMap, error) {
		c.ResourceVersion, c.UID = "", ""
		return c, nil
	}
	obj, meta, bad := decodeWith(t, strip, objectJSON)
	if bad != nil || obj.ResourceVersion != "" || meta.ResourceVersion != "5" || meta.UID != "u" {
		t.Errorf("got %+v, %+v, %v", obj, meta, bad)
	}
}

func TestTransformThatFails(t *testing.T) {
	for name, test := range map[string]struct {
		transform func(*configMap) (*configMap, error)
		want      string
	}{
		"error": {func(*configMap) (*configMap, error) { return nil, errors.New("no room") }, "transform: no room"},
		"nil":   {func(*configMap) (*configMap, error) { return nil, nil }, "transform returned nil"},
	} {
		t.Run(name, func(t *testing.T) {
			_, meta, bad := decodeWith(t, test.transform, objectJSON)
			if bad == nil || !strings.Contains(bad.Error(), test.want) || bad.Meta.Key != "n/a" || meta.Key != "n/a" {
				t.Errorf("error is %v, want one of n/a with %q", bad, test.want)
			}
		})
	}
}

// A panic of the program's own transform is not an error of an object: it ends the program.
func TestPanicOfTheTransform(t *testing.T) {
	defer func() {
		if v := recover(); v != "oops" {
			t.Errorf("decode has ended with the panic %v, want that of the transform", v)
		}
	}()
	_, _, err := decodeWith(t, func(*configMap) (*configMap, error) { panic("oops") }, objectJSON)
	t.Errorf("decode has returned the error %v", err)
}

func TestIdentifyTakesWhatItCan(t *testing.T) {
	for data, want := range map[string]object.Meta{
		objectJSON: {Key: "n/a", UID: "u", ResourceVersion: "5"},
		`{"spec":[1,{"name":"x"}],"metadata":{"labels":{"name":"x"},"name":"a"}}`: {Key: "a"},
		`{"metadata":{"name":7,"namespace":"n","uid":"u"}}`:                       {UID: "u"},
		`{"metadata":{"name":"a","resourceVersion":"5","data":`:                   {Key: "a", ResourceVersion: "5"},
		`{"metadata":"a"}`:        {},
		`{"metadata":null,"x":1}`: {},
		`[]`:                      {},
		``:                        {},
		"{\x00":                   {},
	} {
		if got := JSON.Identify([]byte(data)).Meta(); got != want {
			t.Errorf("Identify(%s) = %+v, want %+v", data, got, want)
		}
	}
}

func TestNewRefusesTypesThatHoldNoObject(t *testing.T) {
	if _, err := newDecoder[object.Object](nil, nil, false, JSON); err == nil {
		t.Error("an interface was accepted")
	}
}

// pointerMeta is a struct whose getters panic if the object has no metadata.
type pointerMeta struct {
	*metav1.ObjectMeta `json:"metadata"`
}

// panicky panics in UnmarshalJSON.
type panicky struct {
	metav1.ObjectMeta `json:"metadata"`
	Data              panickyData `json:"data"`
}

type panickyData struct{}

func (*panickyData) UnmarshalJSON([]byte) error { panic("unforeseen") }

// pointerKind panics in clearKind if the object names no kind, because its TypeMeta
// is then nil.
type pointerKind struct {
	*metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`
}

func (p *pointerKind) GetObjectKind() schema.ObjectKind { return p.TypeMeta }

func TestPanicWhileDecodingIsAnObjectError(t *testing.T) {
	_, meta, bad := decodeWith[*pointerMeta](t, nil, `{"kind":"ConfigMap"}`)
	checkPanic(t, "no metadata", meta, object.Meta{}, bad, "nil pointer")
	_, meta, bad = decodeWith[*panicky](t, nil, objectJSON)
	checkPanic(t, "UnmarshalJSON", meta, object.Meta{Key: "n/a", UID: "u", ResourceVersion: "5"}, bad, "unforeseen")
	obj, meta, bad := decodeWith[*pointerKind](t, nil, `{"metadata":{"name":"a"}}`)
	checkPanic(t, "GetObjectKind", meta, object.Meta{Key: "a"}, bad, "nil pointer")
	if obj != nil {
		t.Errorf("object is %+v, want none", obj)
	}
}

func checkPanic(t *testing.T, name string, meta, want object.Meta, bad *source.ObjectError, text string) {
	t.Helper()
	if bad == nil || !strings.Contains(bad.Error(), "panic") || !strings.Contains(bad.Error(), text) || bad.Meta != want || meta != want {
		t.Errorf("%s: got %v with %+v, want a panic over %q with %+v", name, bad, meta, text, want)
	}
}
