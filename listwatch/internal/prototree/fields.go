package prototree

import (
	"reflect"
	"strconv"
	"strings"

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
	index int // in the struct
	wire  protowire.Type

	// one reads the value of a field that has one, and many a run of those of a field
	// that has many. The other is nil.
	one  func(p *parser, in value, v reflect.Value) bool
	many func(p *parser, in run, v reflect.Value) bool
}

func (f *field) known() bool { return f.one != nil || f.many != nil }

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
		made, ok := ps.field(f.Type)
		if !ok {
			return nil, false
		}
		if typ == metadataType && f.Name == "ResourceVersion" {
			made.one = decodeUnique
		}
		if made.index = i; number >= len(all) {
			all = append(all, make(fields, number+1-len(all))...)
		}
		if all[number].known() {
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

// field returns how a field of a type is decoded: one with many values, or with one.
func (ps *planner) field(typ reflect.Type) (field, bool) {
	switch {
	case isMessage(typ):
	case typ.Kind() == reflect.Map:
		return ps.mapField(typ)
	case typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8:
		elem, ok := ps.of(typ.Elem())
		if !ok {
			return field{}, false
		}
		if typ == reflect.TypeFor[[]metav1.ManagedFieldsEntry]() {
			return field{wire: elem.wire, many: managedRun(sliceDecoder(elem))}, true
		}
		return field{wire: elem.wire, many: sharedRun(sliceDecoder(elem))}, true
	}
	one, ok := ps.of(typ)
	if !ok {
		return field{}, false
	}
	if one.decode == nil {
		// A type that is in itself, whose plan is being made.
		return field{wire: one.wire, one: func(p *parser, in value, v reflect.Value) bool { return one.decode(p, in, v) }}, true
	}
	return field{wire: one.wire, one: one.decode}, true
}
