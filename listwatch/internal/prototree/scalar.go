package prototree

import (
	"math"
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/relist-go/relist/listwatch/internal/intern"
)

// stringDecoder keeps equal strings only once in memory, but for long ones. The string before at
// the same place, which is often the same, is found without a hash.
func stringDecoder(place int) decodeOne {
	return func(p *parser, in value, at unsafe.Pointer) bool {
		if len(in.bytes) > intern.MaxString {
			return decodeUnique(p, in, at)
		}
		if place >= len(p.last) {
			p.last = append(p.last, make([]string, place+1-len(p.last))...)
		}
		last := &p.last[place]
		if *last != string(in.bytes) {
			*last = p.text.String(in.bytes)
		}
		*(*string)(at) = *last
		return true
	}
}

// decodeUnique decodes a string that no other object has, a resourceVersion. It does not
// remember the string, because that would push out strings that repeat.
func decodeUnique(_ *parser, in value, at unsafe.Pointer) bool {
	*(*string)(at) = string(in.bytes)
	return true
}

// decodeBytes copies the bytes. If the message has the field and its value is empty, the
// result is empty and not nil.
func decodeBytes(_ *parser, in value, at unsafe.Pointer) bool {
	*(*[]byte)(at) = append(make([]byte, 0, len(in.bytes)), in.bytes...)
	return true
}

func decodeBool(_ *parser, in value, at unsafe.Pointer) bool {
	*(*bool)(at) = in.number != 0
	return true
}

// decodeNumber takes the low bits of the number, as generated code does, because a negative
// int32 is written with 64 bits.
func decodeNumber[N int | int32 | int64 | uint32 | uint64](_ *parser, in value, at unsafe.Pointer) bool {
	*(*N)(at) = N(in.number)
	return true
}

func decodeFloat64(_ *parser, in value, at unsafe.Pointer) bool {
	*(*float64)(at) = math.Float64frombits(in.number)
	return true
}

// methodDecoder decodes a type by its own Unmarshal. It drops the error of Unmarshal and
// returns false. Then the Unmarshal of the whole object is called, and returns the error
// again.
func methodDecoder(typ reflect.Type) decodeOne {
	unmarshal := unmarshalerOf(typ)
	// Generated code leaves room behind a slice, where an append would write into a shared part.
	if !mayCache(typ) && !isGenerated(typ) {
		return func(_ *parser, in value, at unsafe.Pointer) bool { return unmarshal(at, in.bytes) == nil }
	}
	return func(p *parser, in value, at unsafe.Pointer) bool {
		p.caching = true
		return unmarshal(at, in.bytes) == nil
	}
}

// unmarshalerOf returns the method Unmarshal of *typ. For types that most objects have, the
// call uses no reflection.
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

// namedSliceDecoder decodes a slice type that has its own message, such as metav1.Verbs.
// Kubernetes uses such a type to tell an empty slice from a nil slice.
func namedSliceDecoder(typ reflect.Type) decodeOne {
	unmarshal := unmarshalerOf(typ)
	return func(p *parser, in value, at unsafe.Pointer) bool {
		v := reflect.NewAt(typ, at).Elem()
		if v.IsNil() {
			v.Set(reflect.MakeSlice(typ, 0, 0))
		}
		ok := unmarshal(at, in.bytes) == nil
		if p.share {
			v.SetCap(v.Len()) // for the same reason as in sliceDecoder
		}
		return ok
	}
}

// decodeFieldsV1 decodes the fieldsV1 of an entry of managedFields. It remembers the result and
// reuses it, because programs do not write into it: a manager usually owns the same fields in many
// objects, and these fields are a quarter of the bytes of a Pod.
func decodeFieldsV1(p *parser, in value, at unsafe.Pointer) bool {
	to := (**metav1.FieldsV1)(at)
	if *to != nil {
		return false // a second value would change the first, which other objects may share
	}
	fields, ok := p.fields.Get(in.bytes)
	if !ok {
		fields = new(metav1.FieldsV1)
		if fields.Unmarshal(in.bytes) != nil {
			return false
		}
		p.fields.Put(in.bytes, fields)
	}
	*to = fields
	return true
}
