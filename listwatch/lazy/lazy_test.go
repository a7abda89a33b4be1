package lazy_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	carp "k8s.io/apimachinery/pkg/apis/testapigroup/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/lazy"
	"github.com/relist-go/relist/transport"
)

type configMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data"`
	Spec              *struct {
		Size int `json:"size"`
	} `json:"spec"`
	List   []struct{ Size int } `json:"list"`
	Odd    odd                  `json:"odd"`
	Inline                      // its members stand beside the others
}

type Inline struct {
	Color string `json:"color"`
}

// odd decodes itself to something else than its members say.
type odd struct {
	Size int `json:"size"`
}

func (o *odd) UnmarshalJSON([]byte) error {
	o.Size = 1
	return nil
}

type lazyMap = lazy.Object[*configMap]

var (
	data = lazy.At[map[string]string]("data")
	size = lazy.At[int]("spec.size")
)

// unmarshaler makes lazy objects with the fields.
func unmarshaler(t testing.TB, opts lazy.Options) func(text string) (*lazyMap, error) {
	t.Helper()
	encoding, err := lazy.New[*configMap](opts)
	must.OK(t, err)
	unmarshal, err := encoding.Unmarshaler(reflect.TypeFor[*lazyMap](), format.Options{})
	must.OK(t, err)
	return func(text string) (obj *lazyMap, err error) {
		err = unmarshal([]byte(text), &obj)
		return obj, err
	}
}

func TestNewRefuses(t *testing.T) {
	for want, field := range map[string]lazy.Named{
		"spec.size: it is int, and not string":                  lazy.At[string]("spec.size"),
		"spec.siz: struct { Size int":                           lazy.At[int]("spec.siz"),
		"list.size: list is []struct { Size int }, and no":      lazy.At[int]("list.size"),
		"metadata.labels.app: metadata.labels is map[string]st": lazy.At[string]("metadata.labels.app"),
		"a name is missing":                                     lazy.At[string](""),
		"kind: items of lists do not have it":                   lazy.At[string]("kind"),
		"metadata: name members of it":                          lazy.At[metav1.ObjectMeta]("metadata"),
		"odd.size: lazy_test.odd decodes itself":                lazy.At[int]("odd.size"),
	} {
		_, err := lazy.New[*configMap](lazy.Options{Fields: []lazy.Named{data, field}})
		if err == nil || !strings.HasPrefix(err.Error(), "lazy: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := lazy.New[*unstructured.Unstructured](lazy.Options{}); err == nil || !strings.Contains(err.Error(), "listwatch.Raw") {
		t.Errorf("unstructured objects: %v", err)
	}
	if _, err := lazy.New[*configMap](lazy.Options{Encoding: listwatch.Protobuf}); err == nil || !strings.Contains(err.Error(), "no method Unmarshal") {
		t.Errorf("protobuf: %v", err)
	}
	plain, err := lazy.New[*configMap](lazy.Options{})
	must.OK(t, err)
	if _, err := plain.Unmarshaler(reflect.TypeFor[*lazyMap](), format.Options{ShareParts: true}); err == nil || !strings.Contains(err.Error(), "ShareParts") {
		t.Errorf("ShareParts: %v", err)
	}
}

// An object is the same bytes from a list and from an event, so it is equal to itself.
func TestEqualFromListAndEvent(t *testing.T) {
	read := unmarshaler(t, lazy.Options{Fields: []lazy.Named{data, size}})
	const rest = `"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"5"},"data":{"k":"v"}}`
	item, err := read(`{` + rest)
	must.OK(t, err)
	event, err := read(`{"kind":"ConfigMap", "apiVersion":"v1", ` + rest)
	must.OK(t, err)
	if !reflect.DeepEqual(item, event) || string(event.Bytes()) != `{`+rest {
		t.Errorf("%s, %s", item.Bytes(), event.Bytes())
	}
	if text, err := json.Marshal(event); err != nil || string(text) != `{`+rest || event.String() != "n/a" {
		t.Errorf("%s, %v, %s", text, err, event)
	}
	if other, err := read(`{` + strings.Replace(rest, `"v"`, `"w"`, 1)); err != nil || reflect.DeepEqual(item, other) {
		t.Errorf("%v, %v equals another", other, err)
	}
}

// What Get and Path return is the caller's own, also if many objects have the same. Get returns no
// kind, wherever the bytes have it.
func TestGetIsFresh(t *testing.T) {
	obj, err := unmarshaler(t, lazy.Options{})(`{"metadata":{"name":"a"},"data":{"k":"a text that is long enough to be shared"},"kind":"ConfigMap"}`)
	must.OK(t, err)
	for range 4 {
		whole, err := obj.Get()
		values, pathErr := lazy.Path[map[string]string](obj, "data")
		if err != nil || pathErr != nil || whole.Data["k"] != values["k"] || values["k"] == "changed" || whole.Kind != "" {
			t.Fatalf("%+v, %v; %v, %v", whole, err, values, pathErr)
		}
		whole.Data["k"], values["k"] = "changed", "changed"
	}
}

// Objects are equal if their bytes are, also if they come from a checkpoint or only one of them is
// packed.
func TestEqual(t *testing.T) {
	const text = `{"metadata":{"name":"a"},"data":{"k":"v"}}`
	plain, err := unmarshaler(t, lazy.Options{Fields: []lazy.Named{data}})(text)
	must.OK(t, err)
	half, err := unmarshaler(t, lazy.Options{Packer: halver{}})(text)
	must.OK(t, err)
	saved := &lazyMap{}
	must.OK(t, saved.Unmarshal(half.Bytes()))
	if !plain.Equal(half) || !half.Equal(saved) || half.Size() != 1 {
		t.Errorf("%q, %q in %d bytes, %q", plain.Bytes(), half.Bytes(), half.Size(), saved.Bytes())
	}
	if other, err := unmarshaler(t, lazy.Options{})(strings.Replace(text, "v", "w", 1)); err != nil || other.Equal(plain) {
		t.Errorf("%v, %v equals another", other, err)
	}
}

// halver packs the object of TestEqual.
type halver struct{ lazy.Packer }

func (halver) Pack([]byte) []byte   { return []byte("x") }
func (halver) Unpack([]byte) []byte { return []byte(`{"metadata":{"name":"a"},"data":{"k":"v"}}`) }

// ownMeta has its metadata behind a pointer, with names and types of its own.
type ownMeta struct {
	Meta *struct {
		Space   string            `json:"namespace"`
		Called  string            `json:"name"`
		ID      string            `json:"uid"`
		Version string            `json:"resourceVersion"`
		Notes   map[string]string `json:"annotations"`
		Ended   string            `json:"deletionTimestamp"`
	} `json:"metadata"`
}

func (o *ownMeta) GetNamespace() string       { return o.Meta.Space }
func (o *ownMeta) GetName() string            { return o.Meta.Called }
func (o *ownMeta) GetUID() types.UID          { return types.UID(o.Meta.ID) }
func (o *ownMeta) GetResourceVersion() string { return o.Meta.Version }

// Members of the metadata can be named, also those that each object has decoded in any case.
func TestNamedMetadata(t *testing.T) {
	name, uid, notes := lazy.At[string]("metadata.name"), lazy.At[string]("metadata.uid"), lazy.At[map[string]string]("metadata.annotations")
	encoding, err := lazy.New[*ownMeta](lazy.Options{Fields: []lazy.Named{name, uid, notes}})
	must.OK(t, err)
	unmarshal, err := encoding.Unmarshaler(reflect.TypeFor[*lazy.Object[*ownMeta]](), format.Options{})
	must.OK(t, err)
	var obj *lazy.Object[*ownMeta]
	must.OK(t, unmarshal([]byte(`{"metadata":{"name":"a","namespace":"n","uid":"u","annotations":{"k":"v"}}}`), &obj))
	if obj.String() != "n/a" || obj.GetUID() != "u" || name.Of(obj) != "a" || uid.Of(obj) != "u" || notes.Of(obj)["k"] != "v" {
		t.Errorf("%s, %s; %s, %s, %v", obj, obj.GetUID(), name.Of(obj), uid.Of(obj), notes.Of(obj))
	}
	ended := lazy.At[string]("metadata.deletionTimestamp")
	if _, err := lazy.New[*ownMeta](lazy.Options{Fields: []lazy.Named{ended}}); err == nil || !strings.Contains(err.Error(), "it is *v1.Time in each object") {
		t.Errorf("a time as a string: %v", err)
	}
	color := lazy.At[string]("color")
	inline, err := unmarshaler(t, lazy.Options{Fields: []lazy.Named{color, data}})(`{"metadata":{"name":"a"},"color":"red","data":{"k":"v"}}`)
	if err != nil || color.Of(inline) != "red" || data.Of(inline)["k"] != "v" {
		t.Errorf("the member of an embedded struct is %q, %v", color.Of(inline), err)
	}
}

// based has what all types of a program have in an embedded struct.
type based struct {
	Base `json:",inline"`
	Data map[string]string `json:"data"`
}

type Base struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

// The metadata may be in an embedded struct.
func TestEmbeddedMetadata(t *testing.T) {
	name, notes := lazy.At[string]("metadata.name"), lazy.At[map[string]string]("metadata.annotations")
	encoding, err := lazy.New[*based](lazy.Options{Fields: []lazy.Named{name, notes, data}})
	must.OK(t, err)
	unmarshal, err := encoding.Unmarshaler(reflect.TypeFor[*lazy.Object[*based]](), format.Options{})
	must.OK(t, err)
	var obj *lazy.Object[*based]
	must.OK(t, unmarshal([]byte(`{"metadata":{"name":"a","annotations":{"k":"v"}},"data":{"x":"y"}}`), &obj))
	if name.Of(obj) != "a" || notes.Of(obj)["k"] != "v" || data.Of(obj)["x"] != "y" {
		t.Errorf("%s, %v, %v", name.Of(obj), notes.Of(obj), data.Of(obj))
	}
	if generation, err := lazy.Path[int64](obj, "metadata.generation"); generation != 0 || err != nil {
		t.Errorf("a member that was not named is %d, %v", generation, err)
	}
}

type (
	hidden struct {
		InHidden string `json:"inHidden"`
	}
	message struct {
		InMessage string `json:"inMessage" protobuf:"bytes,1"`
	}
	Pointed struct {
		Far    string `json:"far"`
		Shadow string `json:"shadow"`
	}
	OneColor   struct{ Color string }
	OtherColor struct{ Color string }
)

// members has fields in every way that encoding/json knows.
type members struct {
	metav1.ObjectMeta `json:"metadata"`
	hidden
	message `json:",inline" protobuf:"bytes,2"`
	*Pointed
	OneColor
	OtherColor

	NoTag   string
	Number  int64    `json:",string"`
	Far     int      // beside far of *Pointed
	Shadow  string   `json:"shadow"`
	Skipped string   `json:"-"`
	Any     any      `json:"any"`
	Self    *members `json:"self"`
}

// A path finds the member that encoding/json decodes, named or not, and no other.
func TestMembers(t *testing.T) {
	const text = `{"metadata":{"name":"a","uid":"u"},"inHidden":"h","inMessage":"i","far":"f","NoTag":"n","Number":"5","Far":3,"shadow":"s","Color":"red","any":{"x":["y"]},
		"self":{"far":"g","NoTag":"m"}}`
	var whole members
	must.OK(t, json.Unmarshal([]byte(text), &whole))
	for _, test := range []memberTest{
		member("inHidden", whole.InHidden), member("inMessage", whole.InMessage), member("far", whole.Pointed.Far), member("NoTag", whole.NoTag), member("Number", whole.Number),
		member("Far", whole.Far), member("shadow", whole.Shadow), member("any", whole.Any), member("self", whole.Self),
		member("self.far", whole.Self.Pointed.Far), member("self.NoTag", whole.Self.NoTag), member("self.inHidden", ""),
		member("self.self.far", ""), member("metadata.name", "a"), member("metadata.generation", int64(0)),
	} {
		for _, fields := range [][]lazy.Named{nil, {test.field}} {
			encoding, err := lazy.New[*members](lazy.Options{Fields: fields})
			must.OK(t, err)
			unmarshal, err := encoding.Unmarshaler(reflect.TypeFor[*lazy.Object[*members]](), format.Options{})
			must.OK(t, err)
			var obj *lazy.Object[*members]
			must.OK(t, unmarshal([]byte(text), &obj))
			if got := test.of(obj); !reflect.DeepEqual(got, test.want) {
				t.Errorf("%+v, named %v: %#v, want %#v", test.field, fields != nil, got, test.want)
			}
		}
	}
	for _, path := range []string{"Color", "Skipped", "-", "hidden", "Pointed", "InHidden"} {
		_, err := lazy.New[*members](lazy.Options{Fields: []lazy.Named{lazy.At[string](path)}})
		if err == nil || !strings.Contains(err.Error(), "has no member "+path+" that encoding/json would decode") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

type memberTest struct {
	field lazy.Named
	of    func(lazy.Lazy) any
	want  any
}

func member[V any](path string, want V) memberTest {
	field := lazy.At[V](path)
	return memberTest{field, func(o lazy.Lazy) any { return field.Of(o) }, want}
}

// A member that may be anything is nil if an object lacks it or has null there.
func TestAbsentAny(t *testing.T) {
	field := lazy.At[any]("any")
	for _, text := range []string{`{"metadata":{"name":"a"}}`, `{"metadata":{"name":"a"},"any":null}`} {
		var obj lazy.Object[*members]
		must.OK(t, obj.UnmarshalJSON([]byte(text)))
		if value, err := lazy.Path[any](&obj, "any"); value != nil || err != nil || field.Of(&obj) != nil {
			t.Errorf("%s: %v, %v; %v", text, value, err, field.Of(&obj))
		}
	}
}

// An object that cannot be decoded is found when it comes, unless nobody wants to know.
func TestUnchecked(t *testing.T) {
	const bad = `{"metadata":{"name":"a"},"spec":{"size":7},"data":{"k":5}}`
	if obj, err := unmarshaler(t, lazy.Options{Fields: []lazy.Named{size}})(bad); err == nil {
		t.Errorf("%s is taken", obj)
	}
	obj, err := unmarshaler(t, lazy.Options{Fields: []lazy.Named{size}, Unchecked: true})(bad)
	if err != nil || size.Of(obj) != 7 {
		t.Fatalf("%v, size %d", err, size.Of(obj))
	}
	if _, err := obj.Get(); err == nil || !strings.HasPrefix(err.Error(), "lazy: decode a: ") {
		t.Errorf("Get: %v", err)
	}
	if values, err := lazy.Path[map[string]string](obj, "data"); err == nil || !strings.HasPrefix(err.Error(), "lazy: a: data: ") || data.Of(obj) != nil {
		t.Errorf("data is %v, %v", values, err)
	}
}

func TestPath(t *testing.T) {
	obj, err := unmarshaler(t, lazy.Options{})(`{"metadata":{"name":"a"},"spec":{"size":7}}`)
	must.OK(t, err)
	if n, err := lazy.Path[int](obj, "spec.size"); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := lazy.Path[string](obj, "spec.size"); err == nil || err.Error() != "lazy: a: spec.size: it is int, and not string" {
		t.Errorf("another type: %v", err)
	}
}

// An Object that nothing was decoded into is no object, and says so.
func TestZeroObject(t *testing.T) {
	const want = "lazy: the object is empty: nothing was decoded into it"
	var obj lazyMap
	if got, err := obj.Get(); got != nil || err == nil || err.Error() != want {
		t.Errorf("Get: %v, %v", got, err)
	}
	if _, err := lazy.Path[int](&obj, "spec.size"); err == nil || err.Error() != want {
		t.Errorf("Path: %v", err)
	}
	if n := size.Of(&obj); n != 0 {
		t.Errorf("Of: %d", n)
	}
	if _, err := obj.MarshalJSON(); err == nil || err.Error() != want {
		t.Errorf("MarshalJSON: %v", err)
	}
}

// A message is kept without its envelope and the dropped members. A copy of its bytes is the same
// object.
func TestProtobuf(t *testing.T) {
	type lazyCarp = lazy.Object[*carp.Carp]
	nodeName := lazy.At[string]("spec.nodeName")
	encoding, err := lazy.New[*carp.Carp](lazy.Options{Encoding: listwatch.Protobuf, Fields: []lazy.Named{nodeName}})
	must.OK(t, err)
	unmarshal, err := encoding.Unmarshaler(reflect.TypeFor[*lazyCarp](), format.Options{Drop: [][]string{{"metadata", "annotations"}}})
	must.OK(t, err)
	whole := &carp.Carp{Spec: carp.CarpSpec{NodeName: "pond", Hostname: "h"}}
	whole.Name, whole.Namespace, whole.UID, whole.ResourceVersion, whole.Labels = "a", "n", "u", "5", map[string]string{"k": "v"}
	dropped, err := whole.Marshal()
	must.OK(t, err)
	whole.Annotations = map[string]string{"large": "x"}
	message, err := whole.Marshal()
	must.OK(t, err)
	envelope, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: "Carp"}, Raw: message}).Marshal()
	must.OK(t, err)
	for _, data := range [][]byte{message, append([]byte("k8s\x00"), envelope...)} {
		var obj *lazyCarp
		must.OK(t, unmarshal(data, &obj))
		if !slices.Equal(obj.Bytes(), dropped) || nodeName.Of(obj) != "pond" || obj.String() != "n/a" || obj.GetLabels()["k"] != "v" {
			t.Errorf("%s on %s: %q", obj, nodeName.Of(obj), obj.Bytes())
		}
		again := &lazyCarp{}
		must.OK(t, again.Unmarshal(obj.Bytes()))
		got, err := again.Get()
		if err != nil || got.Spec.Hostname != "h" || got.Annotations != nil || nodeName.Of(again) != "pond" {
			t.Errorf("%+v, %v", got, err)
		}
		if text, err := json.Marshal(again); err != nil || !strings.Contains(string(text), `"nodeName":"pond"`) {
			t.Errorf("%s, %v", text, err)
		}
	}
	whole.Annotations = nil
	whole.Name = strings.Repeat("a", 1+'{'-whole.ObjectMeta.Size())
	if message, err = whole.Marshal(); err != nil || string(message[:2]) != "\n{" {
		t.Fatalf("%q, %v", message, err)
	}
	var obj *lazyCarp
	if err := unmarshal(message, &obj); err != nil || string(obj.Bytes()) != string(message) {
		t.Errorf("a message that begins as JSON: %q, %v", obj.Bytes(), err)
	}
	if err := unmarshal(append(message, 0x0b), &obj); err == nil { // a group
		t.Errorf("%s is taken", obj)
	}
}

// A resource that the server does not have in protobuf comes in JSON, and its objects are lazy all
// the same.
func TestJSONIsTheSecondChoice(t *testing.T) {
	type lazyCarp = lazy.Object[*carp.Carp]
	server, url := apitest.Start(t, apitest.Options{Resources: []apitest.Resource{
		{Group: "example.com", Version: "v1", Plural: "carps", Kind: "Carp", Custom: true},
	}})
	if _, err := server.Create("carps.example.com", map[string]any{
		"metadata": map[string]any{"namespace": "n", "name": "a"}, "spec": map[string]any{"nodeName": "pond"},
	}); err != nil {
		t.Fatal(err)
	}
	client, err := transport.NewClient(transport.Config{Server: url})
	must.OK(t, err)
	t.Cleanup(client.Close)
	nodeName := lazy.At[string]("spec.nodeName")
	encoding, err := lazy.New[*carp.Carp](lazy.Options{Encoding: listwatch.Auto, Fields: []lazy.Named{nodeName}})
	if err != nil || encoding.MediaType() != listwatch.Protobuf.MediaType() {
		t.Fatal(encoding, err)
	}
	carps, err := listwatch.New(client, schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "carps"},
		listwatch.Options[*lazyCarp]{Encoding: encoding})
	must.OK(t, err)
	page, err := carps.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(page.Items) != 1 || nodeName.Of(page.Items[0]) != "pond" {
		t.Fatalf("%+v, %v", page, err)
	}
	metadata, err := carps.Metadata()
	must.OK(t, err)
	if page, err := metadata.List(t.Context(), metav1.ListOptions{}); err != nil || len(page.Items) != 1 || page.Items[0].Name != "a" {
		t.Errorf("metadata: %+v, %v", page, err)
	}
}

// FuzzObject compares a lazy object with the whole one that JSON makes of the same bytes.
func FuzzObject(f *testing.F) {
	f.Add(`{"metadata":{"name":"a","labels":{"x":"y"}},"data":{"k":"v"},"spec":{"size":7}}`)
	f.Add(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","ownerReferences":[{"name":"b"}]},"data":null}`)
	f.Add(`{"metadata":{"name":"a"},"spec":{"size":1},"spec":{"size":2},"data":{"k":"\ud800"}}`)
	f.Add(`{"kind":"x","metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z"}} `)
	read := unmarshaler(f, lazy.Options{Fields: []lazy.Named{data}})
	whole, err := listwatch.JSON.Unmarshaler(reflect.TypeFor[*configMap](), format.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want *configMap
		got, err := read(text)
		if wantErr := whole([]byte(text), &want); err != nil || wantErr != nil || want == nil {
			if err == nil && wantErr != nil {
				t.Fatalf("lazy takes what whole refuses: %v", wantErr)
			}
			if err != nil && wantErr == nil && want != nil {
				t.Fatalf("lazy refuses what whole takes: %v", err)
			}
			return
		}
		obj, err := got.Get()
		must.OK(t, err)
		want.TypeMeta, obj.TypeMeta = metav1.TypeMeta{}, metav1.TypeMeta{}
		if !reflect.DeepEqual(want, obj) {
			t.Fatalf("Get returns %+v, want %+v", obj, want)
		}
		wantSize := 0
		if want.Spec != nil {
			wantSize = want.Spec.Size
		}
		if !reflect.DeepEqual(data.Of(got), want.Data) || size.Of(got) != wantSize || got.GetName() != want.Name || !reflect.DeepEqual(got.GetLabels(), want.Labels) {
			t.Fatalf("%v, %d, %s, %v of %+v", data.Of(got), size.Of(got), got, got.GetLabels(), want)
		}
	})
}

// FuzzMessage compares a lazy object with the whole one that protobuf makes of the same bytes. A
// lazy one may be refused, such as for a group, which no server writes.
func FuzzMessage(f *testing.F) {
	seed := &carp.Carp{Spec: carp.CarpSpec{NodeName: "pond", NodeSelector: map[string]string{"a": "b"}}}
	seed.Name, seed.Labels, seed.OwnerReferences = "a", map[string]string{"k": "v"}, []metav1.OwnerReference{{Name: "o"}}
	seed.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	message, err := seed.Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(message)
	f.Add(append(message, message...)) // each member twice
	f.Add(append(message, 0x0b))
	nodeName, selector := lazy.At[string]("spec.nodeName"), lazy.At[map[string]string]("spec.nodeSelector")
	phase, hostname := lazy.At[carp.CarpPhase]("status.phase"), lazy.At[string]("spec.hostname")
	encoding, err := lazy.New[*carp.Carp](lazy.Options{Encoding: listwatch.Protobuf, Fields: []lazy.Named{nodeName, selector, phase}})
	if err != nil {
		f.Fatal(err)
	}
	lazily, err := encoding.Unmarshaler(reflect.TypeFor[*lazy.Object[*carp.Carp]](), format.Options{})
	if err != nil {
		f.Fatal(err)
	}
	whole, err := listwatch.Protobuf.Unmarshaler(reflect.TypeFor[*carp.Carp](), format.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got *lazy.Object[*carp.Carp]
		if err := lazily(bytes.Clone(data), &got); err != nil {
			return
		}
		var want *carp.Carp
		if err := whole(data, &want); err != nil {
			t.Fatalf("%q is taken: %v", data, err)
		}
		have, err := got.Get()
		if err != nil || !reflect.DeepEqual(want, have) {
			t.Fatalf("%v, and not %v, %v", have, want, err)
		}
		for i, pair := range [][2]any{
			{want.Name, got.GetName()},
			{want.Namespace, got.GetNamespace()},
			{want.UID, got.GetUID()},
			{want.ResourceVersion, got.GetResourceVersion()},
			{want.Labels, got.GetLabels()},
			{want.OwnerReferences, got.GetOwnerReferences()},
			{want.DeletionTimestamp, got.GetDeletionTimestamp()},
			{want.Spec.NodeName, nodeName.Of(got)},
			{want.Spec.NodeSelector, selector.Of(got)},
			{want.Status.Phase, phase.Of(got)},
			{want.Spec.Hostname, hostname.Of(got)},
		} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				t.Fatalf("part %d of %q: %v, and not %v", i, data, pair[1], pair[0])
			}
		}
	})
}
