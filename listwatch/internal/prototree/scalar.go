package prototree

import (
	"math"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func decodeString(p *parser, in value, v reflect.Value) bool {
	v.SetString(p.text.String(in.bytes))
	return true
}

// decodeUnique decodes a string that no other object has: to remember it would only make
// others be forgotten.
func decodeUnique(_ *parser, in value, v reflect.Value) bool {
	v.SetString(string(in.bytes))
	return true
}

// decodeBytes copies. Bytes that are there and empty are not nil.
func decodeBytes(_ *parser, in value, v reflect.Value) bool {
	v.SetBytes(append(make([]byte, 0, len(in.bytes)), in.bytes...))
	return true
}

func decodeBool(_ *parser, in value, v reflect.Value) bool {
	v.SetBool(in.number != 0)
	return true
}

// decodeInt takes the low bits of a number, as generated code does: a negative int32 is
// written as 64 bits.
func decodeInt(_ *parser, in value, v reflect.Value) bool {
	v.SetInt(int64(in.number)) //nolint:gosec // the bits are what is meant
	return true
}

func decodeUint(_ *parser, in value, v reflect.Value) bool {
	v.SetUint(in.number)
	return true
}

func decodeFloat64(_ *parser, in value, v reflect.Value) bool {
	v.SetFloat(math.Float64frombits(in.number))
	return true
}

// methodDecoder decodes a type by its own Unmarshal. Its error is made again by the
// whole object's.
func methodDecoder(typ reflect.Type) func(*parser, value, reflect.Value) bool {
	caches := mayCache(typ)
	return func(p *parser, in value, v reflect.Value) bool {
		p.caching = p.caching || caches
		return unmarshal(in, v)
	}
}

func unmarshal(in value, v reflect.Value) bool {
	return v.Addr().Interface().(Unmarshaler).Unmarshal(in.bytes) == nil
}

// decodeNamedSlice decodes a slice that is a message, as metav1.Verbs is: to say that it
// is there and empty.
func decodeNamedSlice(p *parser, in value, v reflect.Value) bool {
	if v.IsNil() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	ok := unmarshal(in, v)
	if p.share {
		v.SetCap(v.Len()) // as in a sliceDecoder
	}
	return ok
}

// decodeFieldsV1 is metav1.FieldsV1.Unmarshal with a memory. What a manager owns of an
// object is the same for all that it manages in the same way, and takes a quarter of a
// Pod.
func decodeFieldsV1(p *parser, in value, v reflect.Value) bool {
	if !v.IsNil() {
		return false // a second value adds to the first, which others may have
	}
	if p.managed {
		if fields, ok := p.fields.Get(in.bytes); ok {
			v.Set(reflect.ValueOf(fields))
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
	v.Set(reflect.ValueOf(fields))
	return true
}
