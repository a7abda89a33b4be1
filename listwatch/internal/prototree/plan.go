package prototree

import (
	"reflect"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/relist-go/relist/listwatch/internal/protowire"
)

// plan says how to decode values of one type. It is made once for each type, because
// reflection is slow.
type plan struct {
	// wire is the wire type of values of this type.
	wire protowire.Type

	// decode decodes one value.
	decode decodeOne

	// whole does the same as decode, but does not look for the message among the shared
	// parts. It is nil if the type is not a struct that is decoded field by field.
	whole decodeOne
}

// decodeOne decodes one value into the memory at a place. The memory must have the plan's
// type. It returns false if the whole object has to be decoded by Unmarshal. If the place
// already has a value, decodeOne adds to it, because generated code does so if a field comes
// twice.
//
// A place is a pointer without a type, because reflect.Value checks each access: with
// reflect.Value, a Pod of testdata took 19.6 µs, and now it takes 16.4 µs. Generated code
// takes 15.7 µs and twice the memory.
type decodeOne func(p *parser, in value, at unsafe.Pointer) bool

// decodeMany decodes a run: the values of a slice or a map. Otherwise it is like decodeOne.
type decodeMany func(p *parser, in run, at unsafe.Pointer) bool

// value is one value of a message. If its wire type is Bytes, the value is in bytes,
// otherwise in number.
type value struct {
	bytes  []byte
	number uint64
}

// planners are by share, see New. Decoders have their plans in common, because every resource has
// the types of ObjectMeta.
var planners = map[bool]*planner{
	false: {made: map[reflect.Type]*plan{}},
	true:  {made: map[reflect.Type]*plan{}, share: true},
}

// planner makes plans, and keeps them.
type planner struct {
	share bool
	mu    sync.Mutex
	made  map[reflect.Type]*plan
	maps  int // the number of map types so far; each has an index in parser.entries
	texts int // the number of places for a string so far; each has an index in parser.last
}

// planFor returns the plan of a type with a method Unmarshal. Any goroutine may call it.
func planFor(typ reflect.Type, share bool) *plan {
	ps := planners[share]
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.message(typ)
}

var unmarshalerType = reflect.TypeFor[Unmarshaler]()

// of returns the plan of a type that a field has, or an element of a slice, a map or a
// pointer. It returns false if Kubernetes generates no protobuf code for such a type.
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
	case reflect.Struct:
		if typ.Name() == "" {
			return ps.part(typ)
		}
	case reflect.String:
		ps.texts++
		return &plan{wire: protowire.Bytes, decode: stringDecoder(ps.texts - 1)}, true
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
		if kind := typ.Elem().Kind(); kind == reflect.Pointer || kind == reflect.Slice && !isMessage(typ.Elem()) {
			return nil, false
		}
		elem, ok := ps.of(typ.Elem())
		if !ok {
			return nil, false
		}
		if ps.share && elem.whole != nil {
			return &plan{wire: elem.wire, decode: sharedPointer(typ.Elem(), elem)}, true
		}
		return &plan{wire: elem.wire, decode: pointerDecoder(typ.Elem(), elem)}, true
	default:
	}
	return nil, false
}

func isMessage(typ reflect.Type) bool { return reflect.PointerTo(typ).Implements(unmarshalerType) }

// message returns the plan of a type with a method Unmarshal. It keeps the plan before the
// plan is complete, because a type may contain itself, as JSONSchemaProps does.
func (ps *planner) message(typ reflect.Type) *plan {
	if known, ok := ps.made[typ]; ok {
		return known
	}
	made := &plan{wire: protowire.Bytes}
	ps.made[typ] = made
	if typ.Kind() == reflect.Struct && isGenerated(typ) {
		if fields, ok := ps.fields(typ); ok {
			made.whole = fields.decode
			switch {
			case !ps.share:
				made.decode = made.whole
			case typ == metadataType:
				made.decode = private(made.whole)
			default:
				made.decode = sharedMessage(typ, made.whole)
			}
			return made
		}
	}
	made.decode = methodDecoder(typ)
	return made
}

// part returns the plan of a struct that has some fields of a message, and no name. It does not
// contain itself.
func (ps *planner) part(typ reflect.Type) (_ *plan, ok bool) {
	if known, ok := ps.made[typ]; ok {
		return known, true
	}
	fields, ok := ps.fields(typ)
	if !ok {
		return nil, false
	}
	made := &plan{wire: protowire.Bytes, decode: fields.decode, whole: fields.decode}
	ps.made[typ] = made
	return made, true
}

// isGenerated reports whether the method Unmarshal of *typ is generated protobuf code. Only
// such a method is sure to do what the tags say. A method that was written by hand may do
// anything. A method that comes from an embedded field does not know the other fields of
// the struct.
func isGenerated(typ reflect.Type) bool {
	method, ok := reflect.PointerTo(typ).MethodByName("Unmarshal")
	if !ok {
		return false
	}
	pc := method.Func.Pointer()
	file, _ := runtime.FuncForPC(pc).FileLine(pc)
	return strings.HasSuffix(file, ".pb.go")
}
