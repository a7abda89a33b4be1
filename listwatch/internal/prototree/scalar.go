package prototree

import (
	"math"
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func decodeString(p *parser, in value, at unsafe.Pointer) bool {
	*(*string)(at) = p.text.String(in.bytes)
	return true
}

// decodeUnique decodes a string that no other object has: to remember it would only make
// others be forgotten.
func decodeUnique(_ *parser, in value, at unsafe.Pointer) bool {
	*(*string)(at) = string(in.bytes)
	return true
}

// decodeBytes copies. Bytes that are there and empty are not nil.
func decodeBytes(_ *parser, in value, at unsafe.Pointer) bool {
	*(*[]byte)(at) = append(make([]byte, 0, len(in.bytes)), in.bytes...)
	return true
}

func decodeBool(_ *parser, in value, at unsafe.Pointer) bool {
	*(*bool)(at) = in.number != 0
	return true
}

// decodeNumber takes the low bits of a number, as generated code does: a negative int32 is
// written as 64 bits.
func decodeNumber[N int | int32 | int64 | uint32 | uint64](_ *parser, in value, at unsafe.Pointer) bool {
	*(*N)(at) = N(in.number)
	return true
}

func decodeFloat64(_ *parser, in value, at unsafe.Pointer) bool {
	*(*float64)(at) = math.Float64frombits(in.number)
	return true
}

// methodDecoder decodes a type by its own Unmarshal. Its error is made again by the
// whole object's.
func methodDecoder(typ reflect.Type) decodeOne {
	unmarshal := unmarshalerOf(typ)
	if !mayCache(typ) {
		return func(_ *parser, in value, at unsafe.Pointer) bool { return unmarshal(at, in.bytes) == nil }
	}
	return func(p *parser, in value, at unsafe.Pointer) bool {
		p.caching = true
		return unmarshal(at, in.bytes) == nil
	}
}

// unmarshalerOf returns the method Unmarshal of *typ. Types that are in most objects are
// called without reflection.
func unmarshalerOf(typ reflect.Type) func(at unsafe.Pointer, message []byte) error {
	switch typ {
	case reflect.TypeFor[metav1.Time]():
		return unmarshal[metav1.Time]
	case reflect.TypeFor[resource.Quantity]():
		return unmarshal[resource.Quantity]
	case reflect.TypeFor[intstr.IntOrString]():
		return unmarshal[intstr.IntOrString]
	}
	return func(at unsafe.Pointer, message []byte) error {
		return reflect.NewAt(typ, at).Interface().(Unmarshaler).Unmarshal(message)
	}
}

func unmarshal[T any, P interface {
	*T
	Unmarshaler
}](at unsafe.Pointer, message []byte) error {
	return P((*T)(at)).Unmarshal(message)
}

// namedSliceDecoder decodes a slice that is a message, as metav1.Verbs is: to say that it
// is there and empty.
func namedSliceDecoder(typ reflect.Type) decodeOne {
	unmarshal := unmarshalerOf(typ)
	return func(p *parser, in value, at unsafe.Pointer) bool {
		v := reflect.NewAt(typ, at).Elem()
		if v.IsNil() {
			v.Set(reflect.MakeSlice(typ, 0, 0))
		}
		ok := unmarshal(at, in.bytes) == nil
		if p.share {
			v.SetCap(v.Len()) // as in a sliceDecoder
		}
		return ok
	}
}

// decodeFieldsV1 is metav1.FieldsV1.Unmarshal with a memory. What a manager owns of an
// object is the same for all that it manages in the same way, and takes a quarter of a
// Pod.
func decodeFieldsV1(p *parser, in value, at unsafe.Pointer) bool {
	to := (**metav1.FieldsV1)(at)
	if *to != nil {
		return false // a second value adds to the first, which others may have
	}
	if p.managed {
		if fields, ok := p.fields.Get(in.bytes); ok {
			*to = fields
			return true
		}
	}
	fields := new(metav1.FieldsV1)
	if fields.Unmarshal(in.bytes) != nil {
		return false
	}
	if p.managed {
		p.fields.Put(in.bytes, fields)
	}
	*to = fields
	return true
}
