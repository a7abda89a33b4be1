package prototree

import (
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/internal/protowire"
)

// maxNumber bounds the table of a struct's fields. The largest number that the API has
// is far below.
const maxNumber = 1 << 10

// fields are those of a struct, by number.
type fields []field

// field is one that a struct has a place for. The zero field is none.
type field struct {
	tag    uint64  // the number, and how the value is written
	offset uintptr // in the struct

	// one reads the value of a field that has one, and many a run of those of a field
	// that has many. The other is nil.
	one  decodeOne
	many decodeMany
}

// fields returns those of a generated struct. It is false if one of them cannot be
// decoded here, or has no number.
func (ps *planner) fields(typ reflect.Type) (fields, bool) {
	var all fields
	for i := range typ.NumField() {
		f := typ.Field(i)
		tag, tagged := f.Tag.Lookup("protobuf")
		if !tagged && f.Type == reflect.TypeFor[metav1.TypeMeta]() {
			continue // stands on the envelope
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
		if typ == metadataType && f.Name == "ResourceVersion" {
			made.one = decodeUnique
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

// fieldNumber reads `bytes,3,opt,name=namespace`. The first word is not asked: of a
// float it says bytes, which none is.
func fieldNumber(tag string) (number int, ok bool) {
	_, tag, _ = strings.Cut(tag, ",")
	tag, _, _ = strings.Cut(tag, ",")
	number, err := strconv.Atoi(tag)
	return number, err == nil && 0 < number && number < maxNumber
}

// field returns how the values of a field are written, and how they are read: many, or one.
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
		if typ == reflect.TypeFor[[]metav1.ManagedFieldsEntry]() {
			return elem.wire, field{many: managedRun(many)}, true
		}
		return elem.wire, field{many: sharedRun(typ, many)}, true
	}
	one, ok := ps.of(typ)
	if !ok {
		return 0, field{}, false
	}
	if one.decode == nil {
		// A type that is in itself, whose plan is being made.
		return one.wire, field{one: func(p *parser, in value, at unsafe.Pointer) bool { return one.decode(p, in, at) }}, true
	}
	return one.wire, field{one: one.decode}, true
}
