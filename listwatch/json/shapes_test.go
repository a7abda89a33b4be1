package json_test

import (
	stdjson "encoding/json"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/internal/typecheck"
	"github.com/relist-go/relist/listwatch/json"
)

// of is an object with a field of any type, under the name f.
type of[T any] struct {
	metav1.ObjectMeta `json:"metadata"`

	F T `json:"f"`
}

// The types of fields that have no name.
type (
	mode  uint8
	Flags []string
	inner struct {
		A string `json:"a"`
		B int    `json:"b"`
	}
	Outer struct {
		A string `json:"a"`
		C *inner `json:"c"`
	}
	Tagged struct {
		X string `json:"f"`
	}
	Untagged struct{ F string }
	loop     struct {
		Next *loop            `json:"f"`
		More map[string]*loop `json:"more"`
	}
	level int8
	lower string
)

func (l *level) UnmarshalText(text []byte) error { *l = level(len(text)); return nil }

func (l *lower) UnmarshalJSON(data []byte) error { *l = lower("json " + string(data)); return nil }

// shape is a struct, and whether New refuses it.
type shape struct {
	value   any
	refused bool
}

// shapes are the structs that are compared.
var shapes = []shape{
	{value: of[string]{}},
	{value: of[*string]{}},
	{value: of[**string]{}},
	{value: of[metav1.StatusReason]{}},
	{value: of[bool]{}},
	{value: of[*bool]{}},
	{value: of[int]{}},
	{value: of[int8]{}},
	{value: of[int32]{}},
	{value: of[*int64]{}},
	{value: of[uint]{}},
	{value: of[mode]{}},
	{value: of[uint64]{}},
	{value: of[uintptr]{}},
	{value: of[float32]{}},
	{value: of[float64]{}},
	{value: of[any]{}},
	{value: of[*any]{}},
	{value: of[[]any]{}},
	{value: of[map[string]any]{}},
	{value: of[map[string]map[string]any]{}},
	{value: of[time.Duration]{}},
	{value: of[time.Time]{}},
	{value: of[*time.Time]{}},
	{value: of[metav1.Time]{}},
	{value: of[*metav1.Time]{}},
	{value: of[[]metav1.Time]{}},
	{value: of[metav1.MicroTime]{}},
	{value: of[metav1.Duration]{}},
	{value: of[*metav1.FieldsV1]{}},
	{value: of[metav1.FieldsV1]{}},
	{value: of[[]metav1.ManagedFieldsEntry]{}},
	{value: of[stdjson.Number]{}},
	{value: of[[]stdjson.Number]{}},
	{value: of[stdjson.RawMessage]{}},
	{value: of[*stdjson.RawMessage]{}},
	{value: of[map[string]stdjson.RawMessage]{}},
	{value: of[runtime.RawExtension]{}},
	{value: of[*runtime.RawExtension]{}},
	{value: of[resource.Quantity]{}},
	{value: of[map[string]resource.Quantity]{}},
	{value: of[intstr.IntOrString]{}},
	{value: of[*intstr.IntOrString]{}},
	{value: of[unstructured.Unstructured]{}},
	{value: of[*metav1.LabelSelector]{}},
	{value: of[metav1.ObjectMeta]{}},
	{value: of[[]byte]{}},
	{value: of[[]mode]{}},
	{value: of[map[string][]byte]{}},
	{value: of[[4]byte]{}},
	{value: of[[2]int]{}},
	{value: of[[2]*string]{}},
	{value: of[[]string]{}},
	{value: of[Flags]{}},
	{value: of[*[]string]{}},
	{value: of[[][]int32]{}},
	{value: of[map[string]string]{}},
	{value: of[map[string]*string]{}},
	{value: of[map[string][]string]{}},
	{value: of[map[metav1.StatusReason]int]{}},
	{value: of[map[int]string]{}},
	{value: of[map[int8]map[uint16]string]{}},
	{value: of[map[netip.Addr]string]{}},
	{value: of[map[level]string]{}},
	{value: of[map[lower]string]{}},
	{value: of[level]{}},
	{value: of[*level]{}},
	{value: of[lower]{}},
	{value: of[[]lower]{}},
	{value: of[netip.Addr]{}},
	{value: of[inner]{}},
	{value: of[*inner]{}},
	{value: of[[]inner]{}},
	{value: of[map[string]inner]{}},
	{value: of[map[string]*inner]{}},
	{value: of[struct{}]{}},
	{value: of[loop]{}},
	{value: struct {
		metav1.ObjectMeta `json:"metadata"`
		F                 int64 `json:"f,string"`
	}{}},
	{value: struct {
		metav1.ObjectMeta `json:"metadata"`
		F                 *bool `json:"f,omitempty,string"`
	}{}},
	{value: struct {
		metav1.ObjectMeta `json:"metadata"`
		F                 string `json:"f,string"`
	}{}},
	{value: struct {
		metav1.TypeMeta    `json:",inline"`
		*metav1.ObjectMeta `json:"metadata"`
		inner
		F string `json:"f,omitzero"`
	}{}},
	{value: struct {
		metav1.ObjectMeta `json:"metadata"`
		*Outer            `json:",inline"`
		F                 *Outer `json:"f"`
	}{}},
	{value: struct {
		metav1.ObjectMeta `json:"metadata"`
		Outer
		A string `json:"a"`
		F inner  `json:"f"`
	}{}},
	{value: struct {
		metav1.ObjectMeta `json:"metadata"`
		Tagged
		inner `json:"named"`
	}{}},
	{value: struct {
		metav1.ObjectMeta `json:"metadata"`
		Flags             `json:"f"`
	}{}},
	{value: struct {
		metav1.ObjectMeta `json:"metadata"`
		Flags
		F Untagged `json:"f"`
	}{}},
	{value: struct {
		metav1.ObjectMeta `json:"metadata"`
		Tagged
		Untagged
		Also struct {
			F string `json:"f"`
		} `json:",inline"`
	}{}},
	{value: struct {
		metav1.ObjectMeta
		F error `json:"f"`
	}{}, refused: true},
	{value: struct {
		metav1.ObjectMeta `json:"metadata"`
		F                 chan int `json:"f"`
	}{}},
	{value: struct {
		metav1.ObjectMeta `json:"metadata"`
		F                 map[inner]string `json:"f"`
	}{}},
	{value: struct {
		metav1.ObjectMeta `json:"metadata"`
		F                 struct{ metav1.Time } `json:"f"`
	}{}},
}

// values are put into the field of every shape: what is right for one is odd for another.
var values = []string{
	`null`, `true`, `false`, `0`, `-0`, `1`, `-128`, `300`, `1.0`, `1.5`, `1e2`, `1e400`, `9007199254740993`, `9223372036854775807`, `18446744073709551615`, `-9223372036854775809`,
	`""`, `"a"`, `"7"`, `"null"`, `"true"`, `"\u00e9\n\"\ud800"`, "\"\xff\"", `"aGVsbG8="`, `"aGVs\nbG8="`, `"?"`, `"100m"`, `"5s"`, `"10.0.0.1"`,
	`"2026-11-20T11:18:00Z"`, `"2026-11-20T11:18:00.123456Z"`, `"2026-11-20T11:18:00.5+02:00"`,
	`[]`, `[ ]`, `[null]`, `[1]`, `[1,2,3,4,5]`, `["a","b"]`, `["a",1]`, `[[1,2],[],[3]]`, `[{"a":"x"},{"b":2},null]`, `[{"manager":"m","fieldsV1":{"f:a":{}}},{"fieldsV1":null}]`,
	`["2026-11-20T11:18:00Z",null,"2026-11-20T11:18:00Z"]`, `[104,101]`,
	`{}`, `{ }`, `{"a":"x"}`, `{"a":"x","b":2}`, `{"a":"x","A":"y","unknown":[1,{"z":null}]}`, `{"a":null,"b":null}`, `{"a":1}`, `{"a":{"b":1},"a":{"a":"z"}}`, `{"a":"x","a":null}`, `{"a":["x"],"a":[]}`,
	`{"1":"a","-2":"b"}`, `{"1":"a","01":"b"}`, `{"1":{"65535":"x"}}`, `{"x":{"a":"y","b":1},"x":{"b":2}}`, `{"x":{"y":9007199254740993}}`, `{"::1":"a","0:0::1":"b"}`, `{"a":"aGVsbG8=","b":null,"c":""}`,
	`{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"k","operator":"In","values":["v"]}]}`, `{"kind":"K","apiVersion":"v1","metadata":{"name":"n"}}`, `{"kind":"K","kind":null}`,
	`{"f":{"f":null,"more":{"x":{}}}}`, `{"\u0061":"escaped"}`, `{"F":"x"}`, `{"a":"100m","b":1}`, `{"Time":"x"}`, `{"name":"x","labels":{"a":"b"},"creationTimestamp":null,"managedFields":[]}`,
	`tru`, `01`, `[1,]`, `{"a"}`, `"\x"`, `{"a":1}}`, `"a" "b"`,
}

// documents are all that a shape is given.
func documents() []string {
	const meta = `{"metadata":{"name":"n","uid":"u","resourceVersion":"7","labels":{"a":"b"}},`
	var all []string
	for i, v := range values {
		all = append(all, meta+`"f":`+v+`}`,
			meta+`"f":`+v+`,"f":`+values[(i*7+3)%len(values)]+`}`,
			` { "f" : `+v+` , "metadata" : { "name" : "n" } } `,
			meta+`"a":`+v+`,"c":`+v+`}`)
	}
	return append(all, meta+`"Flags":["a"],"Also":{"f":"x"},"F":"x","X":"y","named":{"a":"x"}}`, `null`, `[]`, `7`, ``, `{"metadata":null}`, `{"metadata":{}}`, `{"metadata":{"name":7}}`)
}

// TestShapes: whatever the type, and whatever the document, a decoder makes of it what
// client-go's makes of it (sigs.k8s.io/json, as apimachinery calls it), also if it shares
// parts and has seen the document before. What is not the same is listed in
// docs/differences.md: types that New refuses.
func TestShapes(t *testing.T) {
	if n := len(shapes); n < 60 {
		t.Errorf("there are %d shapes", n)
	}
	all := documents()
	for _, shape := range shapes {
		typ := reflect.TypeOf(shape.value)
		if _, err := typecheck.Check(typ, false); (err != nil) != shape.refused {
			t.Errorf("%v: refused %v, want %v: %v", typ, err != nil, shape.refused, err)
		}
		decoders := []func([]byte, any) error{unmarshaler(t, typ, false), unmarshaler(t, typ, true)}
		for _, document := range all {
			want := reflect.New(typ)
			wantErr := utiljson.Unmarshal([]byte(document), want.Interface())
			for i := range 4 {
				got := reflect.New(typ)
				err := decoders[min(i, 1)]([]byte(document), got.Interface())
				if (err == nil) != (wantErr == nil) {
					t.Errorf("%v of %s: error %v, client-go's is %v", typ, document, err, wantErr)
					break
				}
				if err == nil && !reflect.DeepEqual(got.Interface(), want.Interface()) {
					t.Errorf("%v of %s: %+v, client-go makes of it %+v", typ, document, got.Elem(), want.Elem())
					break
				}
			}
		}
	}
}

func unmarshaler(t *testing.T, typ reflect.Type, share bool) func(object []byte, into any) error {
	t.Helper()
	unmarshal, err := json.Format{}.Unmarshaler(typ, format.Options{ShareParts: share})
	must.OK(t, err)
	return unmarshal
}

// TestShapesDecode: most documents that are right for a shape do not need client-go's
// decoder, and those that are wrong for every shape are no JSON.
func TestShapesDecode(t *testing.T) {
	for _, document := range documents() {
		taken := slices.ContainsFunc(shapes, func(s shape) bool {
			return unmarshaler(t, reflect.TypeOf(s.value), false)([]byte(document), reflect.New(reflect.TypeOf(s.value)).Interface()) == nil
		})
		if !taken && stdjson.Valid([]byte(document)) && document[0] == '{' && document != `{"metadata":{"name":7}}` {
			t.Errorf("no shape takes %s", document)
		}
	}
}
