package tree

import (
	"reflect"
	"strings"
)

// field is a member that a struct has a place for.
type field struct {
	name  string
	index []int // of the field, through the structs that are embedded
	typ   reflect.Type
}

// fieldsOf returns the fields of a struct in their order, those of embedded structs
// among them. It is false for a struct about which json/v2 would have to be asked:
// options that are rare, names that conflict, embedded pointers.
func fieldsOf(typ reflect.Type) (fields []field, ok bool) {
	fields, ok = appendFields(nil, typ, nil)
	if !ok || len(fields) == 0 || len(fields) > maxFields {
		return nil, false
	}
	names := make(map[string]bool, len(fields))
	for _, f := range fields {
		if names[f.name] {
			return nil, false
		}
		names[f.name] = true
	}
	return fields, true
}

func appendFields(fields []field, typ reflect.Type, outer []int) ([]field, bool) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		tag, tagged := f.Tag.Lookup("json")
		if tag == "-" {
			continue
		}
		if !f.IsExported() {
			if tagged || f.Anonymous {
				return nil, false
			}
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if strings.ContainsAny(name, "\\'\"`") || !plainOptions(options) {
			return nil, false
		}
		index := append(append(make([]int, 0, len(outer)+1), outer...), i)
		if f.Anonymous && name == "" {
			if f.Type.Kind() != reflect.Struct || hasMethods(f.Type) || options != "" && options != "inline" {
				return nil, false
			}
			var ok bool
			if fields, ok = appendFields(fields, f.Type, index); !ok {
				return nil, false
			}
			continue
		}
		if name == "" {
			name = f.Name
		}
		fields = append(fields, field{name: name, index: index, typ: f.Type})
	}
	return fields, true
}

// plainOptions reports whether the options of a tag do not matter to a decoder.
func plainOptions(options string) bool {
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "", "omitempty", "omitzero", "inline":
		default:
			return false
		}
	}
	return true
}
