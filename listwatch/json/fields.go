package json

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// field is a field of a struct, or of a struct embedded in it.
type field struct {
	name  string
	index []int // the path to the field through embedded structs
	typ   reflect.Type

	tagged bool // the name comes from a tag
}

// fieldsOf returns the fields of a struct and of its embedded structs in their order, by
// the rules of encoding/json: https://pkg.go.dev/encoding/json#Marshal. ok is false for a
// struct that only apimachinery's decoder can decode, because it has an embedded pointer,
// an embedded struct that is not exported but has a name, or numbers in quotes.
func fieldsOf(typ reflect.Type) (fields []field, ok bool) {
	fields, ok = appendFields(nil, typ, nil)
	fields = dominant(fields)
	return fields, ok && 0 < len(fields) && len(fields) <= maxFields
}

// Member returns the indexes of the fields that lead to a member of a struct, through embedded
// structs and pointers to them. It is nil if there is no such member, or if several fields have its
// name and encoding/json ignores them all.
func Member(typ reflect.Type, name string) []int {
	fields, _ := appendFields(nil, typ, nil)
	for _, f := range dominant(fields) {
		if f.name == name {
			return f.index
		}
	}
	return nil
}

// appendFields appends the fields of a struct. within are the structs in which typ is embedded:
// what one of them embeds again is deeper than the first and does not count.
func appendFields(fields []field, typ reflect.Type, outer []int, within ...reflect.Type) (_ []field, ok bool) {
	ok = true
	within = append(within, typ)
	for i := range typ.NumField() {
		f := typ.Field(i)
		tag := f.Tag.Get("json")
		isStruct := f.Type.Kind() == reflect.Struct
		toStruct := f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct
		if tag == "-" || !f.IsExported() && (!f.Anonymous || !isStruct && !toStruct) {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if !isName(name) {
			name = ""
		}
		index := append(slices.Clone(outer), i)
		if slices.Contains(strings.Split(options, ","), "string") || f.Anonymous && (!f.IsExported() && name != "" || name == "" && toStruct) {
			ok = false
		}
		if f.Anonymous && name == "" && (isStruct || toStruct) {
			embedded := f.Type
			if toStruct {
				embedded = embedded.Elem()
			}
			if !slices.Contains(within, embedded) {
				var fine bool
				fields, fine = appendFields(fields, embedded, index, within...)
				ok = ok && fine
			}
			continue
		}
		made := field{name: name, index: index, typ: f.Type, tagged: name != ""}
		if name == "" {
			made.name = f.Name
		}
		fields = append(fields, made)
	}
	return fields, ok
}

// isName reports whether encoding/json accepts a name from a tag. It ignores a name with
// other characters.
func isName(name string) bool {
	for _, c := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return true
}

// dominant returns the fields that are decoded. If several have the same name, the
// outermost counts. If several of these are at the same depth, the one with a tag counts.
// If that does not decide, none of them counts.
func dominant(fields []field) []field {
	best := make(map[string]*field, len(fields))
	for i := range fields {
		f := &fields[i]
		switch other := best[f.name]; {
		case other == nil, len(f.index) < len(other.index), len(f.index) == len(other.index) && f.tagged && !other.tagged:
			best[f.name] = f
		}
	}
	return slices.DeleteFunc(slices.Clone(fields), func(f field) bool {
		for i := range fields {
			if other := &fields[i]; other.name == f.name && !slices.Equal(other.index, f.index) &&
				len(other.index) == len(f.index) && other.tagged == f.tagged {
				return true
			}
		}
		return !slices.Equal(best[f.name].index, f.index)
	})
}
