package prototree

import (
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/internal/protowire"
)

// maxNumber is the limit of field numbers, because a struct's fields are in a table with
// one place for each number. The numbers in the API are far smaller.
const maxNumber = 1 << 10

// fields holds the fields of a struct. The index is the field's number.
type fields []field

// field says how to decode one field of a struct. A number that the struct does not have is
// a zero field.
type field struct {
	tag    uint64  // the number and the wire type
	offset uintptr // of the field in the struct, in bytes

	// one decodes the value of a field that has a single value. many decodes a run of
	// values of a slice or a map. Exactly one of them is set; the other is nil.
	one  decodeOne
	many decodeMany
}

// fields returns the fields of a generated struct. It returns false if a field cannot be
// decoded here, or has no number.
func (ps *planner) fields(typ reflect.Type) (fields, bool) {
	var all fields
	for i := range typ.NumField() {
		f := typ.Field(i)
		tag, tagged := f.Tag.Lookup("protobuf")
		if !tagged && f.Type == reflect.TypeFor[metav1.TypeMeta]() {
			continue // kind and apiVersion are in the envelope, not in the message
		}
		number, ok := fieldNumber(tag)
		if !ok || !f.IsExported() {
			return nil, false
		}
		wire, made, ok := ps.field(f.Type)
		if !ok {
			return nil, false
		}
		made.tag, made.offset = uint64(number)<<3|uint64(wire), f.Offset
		if f.Name == "ResourceVersion" && (typ == metadataType || typ.Name() == "") {
			made.one = decodeUnique
		}
		if typ == reflect.TypeFor[metav1.ManagedFieldsEntry]() && f.Name == "FieldsV1" {
			made.one = decodeFieldsV1
		}
		if number >= len(all) {
			all = append(all, make(fields, number+1-len(all))...)
		}
		if all[number].tag != 0 {
			return nil, false
		}
		all[number] = made
	}
	return all, true
}

// fieldNumber reads the number from a tag such as `bytes,3,opt,name=namespace`. It ignores
// the first word, the wire type, because that word can be wrong: the tags of float64 fields
// say bytes.
func fieldNumber(tag string) (number int, ok bool) {
	_, tag, _ = strings.Cut(tag, ",")
	tag, _, _ = strings.Cut(tag, ",")
	number, err := strconv.Atoi(tag)
	return number, err == nil && 0 < number && number < maxNumber
}

// field returns the wire type of a field's values, and a field with the decoder: one or
// many. It returns false if the type cannot be decoded here.
func (ps *planner) field(typ reflect.Type) (wire protowire.Type, f field, ok bool) {
	switch {
	case isMessage(typ):
	case typ.Kind() == reflect.Map:
		many, ok := ps.mapField(typ)
		return protowire.Bytes, field{many: many}, ok
	case typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8:
		elem, ok := ps.of(typ.Elem())
		if !ok {
			return 0, field{}, false
		}
		many := sliceDecoder(typ, elem)
		return elem.wire, field{many: ps.sharedRun(typ, many)}, true
	}
	one, ok := ps.of(typ)
	if !ok {
		return 0, field{}, false
	}
	if one.decode == nil {
		// The type contains itself, so its plan is not complete yet. The function looks the
		// decoder up later.
		return one.wire, field{one: func(p *parser, in value, at unsafe.Pointer) bool { return one.decode(p, in, at) }}, true
	}
	return one.wire, field{one: one.decode}, true
}
