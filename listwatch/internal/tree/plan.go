package tree

import (
	"encoding"
	"reflect"
	"sync"

	"github.com/go-json-experiment/json"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// plan is how values of one type are decoded: what reflection has to say about the type
// is asked once. decode sets v, which is addressable and has its zero value, to what
// stands at b[i], and returns the place after it.
type plan struct {
	decode func(p *parser, i int, v reflect.Value) (end int, err error)
}

// plans are kept for all resources: the types of ObjectMeta are in each.
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
	fromType = reflect.TypeFor[json.UnmarshalerFrom]()
	jsonType = reflect.TypeFor[json.Unmarshaler]()
	textType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// plan returns that of a type, which may be of itself: a schema has schemas.
func (ps *planner) plan(typ reflect.Type) *plan {
	if known, ok := ps.made[typ]; ok {
		return known
	}
	made := &plan{}
	ps.made[typ] = made
	made.decode = ps.decoder(typ)
	return made
}

// decoder goes by json/v2's rules. What is rare is left to json/v2 itself.
func (ps *planner) decoder(typ reflect.Type) func(*parser, int, reflect.Value) (int, error) {
	switch typ {
	case reflect.TypeFor[metav1.Time]():
		return decodeTime
	case reflect.TypeFor[metav1.FieldsV1]():
		return decodeFieldsV1
	case reflect.TypeFor[map[string]string]():
		return decodeStringMap
	}
	if typ.PkgPath() == "time" {
		return delegate
	}
	if kind := typ.Kind(); kind != reflect.Pointer && kind != reflect.Interface {
		switch pointer := reflect.PointerTo(typ); {
		case pointer.Implements(fromType):
			return delegate
		case pointer.Implements(jsonType):
			return decodeMethod
		case pointer.Implements(textType):
			return delegate
		}
	}
	switch typ.Kind() {
	case reflect.String:
		return decodeString
	case reflect.Bool:
		return decodeBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return decodeInt
	case reflect.Pointer:
		return pointerDecoder(typ, ps.plan(typ.Elem()))
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.Uint8 {
			return delegate // base64
		}
		return sliceDecoder(ps.plan(typ.Elem()))
	case reflect.Map:
		if key := typ.Key(); key.Kind() == reflect.String && !hasMethods(key) {
			return mapDecoder(typ, ps.plan(typ.Elem()))
		}
	case reflect.Struct:
		if fields, ok := fieldsOf(typ); ok {
			return structDecoder(fields, ps)
		}
	default:
	}
	return delegate
}

// hasMethods reports whether json would call a method of a map's key.
func hasMethods(typ reflect.Type) bool {
	for _, method := range []reflect.Type{fromType, jsonType, textType} {
		if typ.Implements(method) || reflect.PointerTo(typ).Implements(method) {
			return true
		}
	}
	return false
}
