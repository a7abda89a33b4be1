package json

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sync"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/relist-go/relist/listwatch/internal/jsonfields"
)

// plan decodes values of one type. It is made once for each type, so that reflection on
// the type happens once.
type plan struct{ decode decoder }

// decoder decodes the value at b[i] into the memory at a place, and returns the position after the
// value, or elsewhere. The memory must have the plan's type, and be zero. A place is a pointer
// without a type, because reflect.Value checks each access.
type decoder func(p *parser, i int, at unsafe.Pointer) (end int)

// elsewhere leaves the whole object to apimachinery's decoder, which decodes it or returns the
// error.
const elsewhere = -1

// plans are shared by all resources, because each of them needs the types of ObjectMeta.
var plans = planner{made: map[reflect.Type]*plan{}}

type planner struct {
	mu   sync.Mutex
	made map[reflect.Type]*plan
}

func planFor(typ reflect.Type) *plan {
	plans.mu.Lock()
	defer plans.mu.Unlock()
	return plans.plan(typ)
}

var (
	jsonType = reflect.TypeFor[json.Unmarshaler]()
	textType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// plan returns the plan of a type. The type may contain itself, as a schema contains
// schemas.
func (ps *planner) plan(typ reflect.Type) *plan {
	if known, ok := ps.made[typ]; ok {
		return known
	}
	made := &plan{}
	ps.made[typ] = made
	made.decode = ps.decoder(typ)
	return made
}

// decoder follows the rules of encoding/json as apimachinery's decoder does. It leaves
// rare types to that decoder, see [delegate].
func (ps *planner) decoder(typ reflect.Type) decoder {
	switch typ {
	case reflect.TypeFor[metav1.Time]():
		return decodeTime
	case reflect.TypeFor[intstr.IntOrString]():
		return decodePort
	case reflect.TypeFor[*metav1.FieldsV1]():
		return decodeFieldsV1
	case reflect.TypeFor[[]metav1.ManagedFieldsEntry]():
		return managedDecoder(sliceDecoder(typ, ps.plan(typ.Elem())))
	case reflect.TypeFor[map[string]string]():
		return shared(typ, decodeStringMap)
	case reflect.TypeFor[json.Number]():
		return delegate(typ)
	}
	if kind := typ.Kind(); kind != reflect.Pointer && kind != reflect.Interface && hasMethods(typ) {
		switch {
		case typ.Name() == "":
			return decodeElsewhere // the methods come from an embedded field and count only in some places
		case reflect.PointerTo(typ).Implements(jsonType):
			return methodDecoder(typ)
		}
		return delegate(typ)
	}
	switch typ.Kind() {
	case reflect.String:
		return decodeString
	case reflect.Bool:
		return decodeBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64:
		return numberDecoder(typ)
	case reflect.Interface:
		if typ.NumMethod() == 0 {
			return decodeAny
		}
	case reflect.Pointer:
		return shared(typ, pointerDecoder(typ, ps.plan(typ.Elem())))
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.Uint8 {
			return bytesDecoder(typ)
		}
		return shared(typ, sliceDecoder(typ, ps.plan(typ.Elem())))
	case reflect.Map:
		if key := typ.Key(); key.Kind() == reflect.String && !reflect.PointerTo(key).Implements(textType) {
			return shared(typ, mapDecoder(typ, ps.plan(typ.Elem())))
		}
	case reflect.Struct:
		fields, ok := jsonfields.Of(typ)
		switch ok = ok && 0 < len(fields) && len(fields) <= maxFields; {
		case ok && typ == reflect.TypeFor[metav1.ObjectMeta]():
			return private(fieldsDecoder(typ, fields, ps))
		case ok:
			return fieldsDecoder(typ, fields, ps)
		}
	default:
	}
	return delegate(typ)
}

func hasMethods(typ reflect.Type) bool {
	pointer := reflect.PointerTo(typ)
	return pointer.Implements(jsonType) || pointer.Implements(textType)
}
