package prototree

import (
	"reflect"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/internal/protowire"
)

// plan is how values of one type are decoded: what reflection has to say about the type
// is asked once.
type plan struct {
	// wire is how values of the type are written.
	wire protowire.Type

	// decode is how one is read.
	decode decodeOne

	// whole is decode without a look at whether the message has been met before. It is
	// nil for what is no message of a struct with fields.
	whole decodeOne
}

// decodeOne reads one value into the memory at a place, which must be of the plan's type. It
// is false if the object has to be left to Unmarshal. What is there already it adds to, as
// generated code does where a field comes twice.
//
// A place is a pointer without a type. With reflect.Value, which checks each access, a Pod
// of testdata took 19.6 µs instead of 16.4, and generated code takes 15.7 and twice the
// memory.
type decodeOne func(p *parser, in value, at unsafe.Pointer) bool

// decodeMany reads all values of a field of which there may be several, as decodeOne does.
type decodeMany func(p *parser, in run, at unsafe.Pointer) bool

// value is one value of a message: the bytes of a Bytes value, the number of any other.
type value struct {
	bytes  []byte
	number uint64
}

// plans are kept for all resources: the types of ObjectMeta are in each.
var plans = planner{made: map[reflect.Type]*plan{}}

type planner struct {
	mu   sync.Mutex
	made map[reflect.Type]*plan
	maps int // whose entries have a place in a parser
}

// planFor returns the plan of a message.
func planFor(typ reflect.Type) *plan {
	plans.mu.Lock()
	defer plans.mu.Unlock()
	return plans.message(typ)
}

var unmarshalerType = reflect.TypeFor[Unmarshaler]()

// of returns the plan of a type that a field, or an element of one, can have. It is
// false for types that Kubernetes does not generate code for.
func (ps *planner) of(typ reflect.Type) (_ *plan, ok bool) {
	if typ.Kind() != reflect.Pointer && isMessage(typ) {
		switch typ.Kind() {
		case reflect.Struct:
			return ps.message(typ), true
		case reflect.Slice:
			return &plan{wire: protowire.Bytes, decode: namedSliceDecoder(typ)}, true
		default:
			return nil, false
		}
	}
	switch typ.Kind() {
	case reflect.String:
		return &plan{wire: protowire.Bytes, decode: decodeString}, true
	case reflect.Bool:
		return &plan{wire: protowire.Varint, decode: decodeBool}, true
	case reflect.Int:
		return &plan{wire: protowire.Varint, decode: decodeNumber[int]}, true
	case reflect.Int32:
		return &plan{wire: protowire.Varint, decode: decodeNumber[int32]}, true
	case reflect.Int64:
		return &plan{wire: protowire.Varint, decode: decodeNumber[int64]}, true
	case reflect.Uint32:
		return &plan{wire: protowire.Varint, decode: decodeNumber[uint32]}, true
	case reflect.Uint64:
		return &plan{wire: protowire.Varint, decode: decodeNumber[uint64]}, true
	case reflect.Float64:
		return &plan{wire: protowire.Fixed64, decode: decodeFloat64}, true
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.Uint8 {
			return &plan{wire: protowire.Bytes, decode: decodeBytes}, true
		}
	case reflect.Pointer:
		if typ == reflect.TypeFor[*metav1.FieldsV1]() {
			return &plan{wire: protowire.Bytes, decode: decodeFieldsV1}, true
		}
		if kind := typ.Elem().Kind(); kind == reflect.Pointer || kind == reflect.Slice && !isMessage(typ.Elem()) {
			return nil, false
		}
		elem, ok := ps.of(typ.Elem())
		if !ok {
			return nil, false
		}
		if elem.whole != nil {
			return &plan{wire: elem.wire, decode: sharedPointer(typ.Elem(), elem)}, true
		}
		return &plan{wire: elem.wire, decode: pointerDecoder(typ.Elem(), elem)}, true
	default:
	}
	return nil, false
}

func isMessage(typ reflect.Type) bool { return reflect.PointerTo(typ).Implements(unmarshalerType) }

// message returns the plan of a type with a method Unmarshal, which may be in itself: a
// schema has schemas.
func (ps *planner) message(typ reflect.Type) *plan {
	if known, ok := ps.made[typ]; ok {
		return known
	}
	made := &plan{wire: protowire.Bytes}
	ps.made[typ] = made
	if typ.Kind() == reflect.Struct && isGenerated(typ) {
		if fields, ok := ps.fields(typ); ok {
			made.whole = fields.decode
			made.decode = sharedMessage(typ, made.whole)
			if typ == metadataType {
				made.decode = private(made.whole)
			}
			return made
		}
	}
	made.decode = methodDecoder(typ)
	return made
}

// isGenerated reports whether the method Unmarshal of *typ was written by the generator
// of protobuf code, and so does what the tags say. One that was written by hand may do
// anything; one that the compiler made for an embedded field knows nothing of the
// fields beside that.
func isGenerated(typ reflect.Type) bool {
	method, ok := reflect.PointerTo(typ).MethodByName("Unmarshal")
	if !ok {
		return false
	}
	pc := method.Func.Pointer()
	file, _ := runtime.FuncForPC(pc).FileLine(pc)
	return strings.HasSuffix(file, ".pb.go")
}
