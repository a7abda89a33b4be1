package decode

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/format"
)

// generated is what the API's types have for protobuf.
type generated interface {
	Marshal() ([]byte, error)
	Unmarshal(message []byte) error
}

// objectTypes are all types of the API that are objects, in the order of their names.
func objectTypes(t testing.TB) (types []reflect.Type) {
	t.Helper()
	for kind, typ := range clientscheme.Scheme.AllKnownTypes() {
		obj := reflect.New(typ).Interface()
		_, isObject := obj.(metav1.Object)
		if _, ok := obj.(generated); ok && isObject && kind.Version != runtime.APIVersionInternal {
			types = append(types, typ)
		}
	}
	slices.SortFunc(types, func(a, b reflect.Type) int { return strings.Compare(a.PkgPath()+a.Name(), b.PkgPath()+b.Name()) })
	if len(types) < 100 {
		t.Fatalf("%d types", len(types))
	}
	return slices.Compact(types)
}

func decoderOf(t testing.TB, typ reflect.Type) func(object []byte, into any) error {
	t.Helper()
	decode, err := listwatch.Protobuf.Unmarshaler(typ, format.Options{})
	must.OK(t, err)
	return decode
}

// compareWithGenerated decodes a message in both ways, which must agree.
func compareWithGenerated(t *testing.T, decode func([]byte, any) error, typ reflect.Type, message []byte) (decoded any) {
	t.Helper()
	want, got := reflect.New(typ).Interface().(generated), reflect.New(typ)
	wantErr, err := want.Unmarshal(message), decode(message, got.Interface())
	if (wantErr == nil) != (err == nil) {
		t.Fatalf("%v of %x: %v, generated code says %v", typ, message, err, wantErr)
	}
	if err == nil && !reflect.DeepEqual(want, got.Interface()) {
		t.Fatalf("%v of %x differs (-generated +listwatch):\n%s", typ, message, cmp.Diff(want, got.Interface()))
	}
	return got.Interface()
}

// TestEveryTypeOfTheAPI: what generated code makes of an object, listwatch makes of it,
// whether every field has a value, or some, or bytes are wrong.
func TestEveryTypeOfTheAPI(t *testing.T) {
	for _, typ := range objectTypes(t) {
		decode := decoderOf(t, typ)
		if !shares(t, decode, typ) {
			t.Errorf("%v is left to generated code", typ)
		}
		for seed := range uint64(30) {
			dice := rand.New(rand.NewPCG(seed, 2))
			obj := reflect.New(typ)
			fill(dice, obj.Elem(), 0)
			message, err := obj.Interface().(generated).Marshal()
			must.OK(t, err)
			compareWithGenerated(t, decode, typ, message)
			for range 20 {
				damage(dice, decode, t, typ, message)
			}
		}
	}
}

// shares reports whether two objects have the same string in memory, which those of
// generated code never have.
func shares(t *testing.T, decode func([]byte, any) error, typ reflect.Type) bool {
	t.Helper()
	in := func() *byte {
		obj := reflect.New(typ).Interface().(metav1.Object)
		if err := decode([]byte("\x0a\x0b\x1a\x09namespace"), obj); err != nil || obj.GetNamespace() != "namespace" {
			t.Fatalf("%v in namespace %q, %v", typ, obj.GetNamespace(), err)
		}
		return unsafe.StringData(obj.GetNamespace())
	}
	first := in()
	return first == in()
}

// damage changes some bytes, and compares.
func damage(dice *rand.Rand, decode func([]byte, any) error, t *testing.T, typ reflect.Type, message []byte) {
	t.Helper()
	odd := slices.Clone(message[:len(message)-dice.IntN(2)*dice.IntN(len(message)/2+1)])
	for range dice.IntN(3) {
		if len(odd) > 0 {
			odd[dice.IntN(len(odd))] = byte(dice.Uint32())
		}
	}
	compareWithGenerated(t, decode, typ, odd)
}

// TestRealPodsInProtobuf: 300 as a server has them, alone and in a list, whose objects
// share memory, also with bytes that are wrong.
func TestRealPodsInProtobuf(t *testing.T) {
	pods := realPods(t)
	typ := reflect.TypeFor[corev1.Pod]()
	decode, dice := decoderOf(t, typ), rand.New(rand.NewPCG(1, 3))
	want := make([]*corev1.Pod, len(pods.Items))
	for i := range pods.Items {
		message, err := pods.Items[i].Marshal()
		must.OK(t, err)
		want[i] = compareWithGenerated(t, decode, typ, message).(*corev1.Pod)
		for range 20 {
			damage(dice, decode, t, typ, message)
		}
	}
	pods.Kind, pods.APIVersion = "PodList", "v1"
	page := list[*corev1.Pod](t, codecs[1], codecs[1].encode(t, pods))
	if !reflect.DeepEqual(want, page.Items) {
		t.Errorf("the list differs (-alone +list):\n%s", cmp.Diff(want, page.Items))
	}
}

// fill gives values to a part of the fields of v, down to a depth.
func fill(dice *rand.Rand, v reflect.Value, depth int) {
	if depth > 12 || depth > 1 && dice.IntN(4) == 0 {
		return
	}
	switch into := v.Addr().Interface().(type) {
	case *metav1.Time:
		*into = metav1.Unix(dice.Int64N(1<<32), 0)
		return
	case *metav1.MicroTime:
		*into = metav1.NewMicroTime(metav1.Unix(dice.Int64N(1<<32), 1000*dice.Int64N(1e6)).Time)
		return
	case *resource.Quantity:
		*into = resource.MustParse([]string{"0", "100m", "1.5Gi", "12345678901234567890123", "-3"}[dice.IntN(5)])
		return
	case *metav1.FieldsV1:
		into.SetRawString(`{"f:metadata":{}}`)
		return
	case *runtime.RawExtension:
		into.Raw = []byte(word(dice))
		return
	case *metav1.TypeMeta:
		return // stands on the envelope
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(word(dice))
	case reflect.Bool:
		v.SetBool(dice.IntN(2) == 0)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(dice.Int64() >> dice.IntN(64) * (1 - 2*dice.Int64N(2)))
	case reflect.Uint32, reflect.Uint64, reflect.Uint8:
		v.SetUint(dice.Uint64())
	case reflect.Float64:
		v.SetFloat(dice.NormFloat64())
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(dice, v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), dice.IntN(4), 4))
		for i := range v.Len() {
			fill(dice, v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range dice.IntN(4) {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(dice, key, depth+1)
			fill(dice, elem, depth+1)
			v.SetMapIndex(key, elem)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(dice, v.Field(i), depth+1)
		}
	default:
	}
}

func word(dice *rand.Rand) string {
	return []string{"", "a", "web", "é\n\"", "\xff", "registry.example.com/shop/frontend:v1", strings.Repeat("long ", dice.IntN(100))}[dice.IntN(7)]
}
