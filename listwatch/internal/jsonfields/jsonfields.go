// Package jsonfields says which members of JSON the fields of a struct are, by the rules of
// encoding/json: https://pkg.go.dev/encoding/json#Marshal.
package jsonfields

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// Field is a field of a struct, or of a struct embedded in it.
type Field struct {
	Name  string
	Index []int // the path to the field through embedded structs
	Type  reflect.Type

	tagged bool // the name comes from a tag
}

// Of returns the fields of a struct and of its embedded structs in their order. ok is false for a
// struct that only apimachinery's decoder can decode, because it has an embedded pointer, an
// embedded struct that is not exported but has a name, or numbers in quotes.
func Of(typ reflect.Type) (fields []Field, ok bool) {
	fields, ok = appendFields(nil, typ, nil)
	return dominant(fields), ok
}

// Index returns the indexes of the fields that lead to a member of a struct, through embedded
// structs and pointers to them. It is nil if there is no such member, or if several fields have its
// name and encoding/json ignores them all.
func Index(typ reflect.Type, name string) []int {
	fields, _ := appendFields(nil, typ, nil)
	for _, f := range dominant(fields) {
		if f.Name == name {
			return f.Index
		}
	}
	return nil
}

// appendFields appends the fields of a struct. within are the structs in which typ is embedded:
// what one of them embeds again is deeper than the first and does not count.
func appendFields(fields []Field, typ reflect.Type, outer []int, within ...reflect.Type) (_ []Field, ok bool) {
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
		made := Field{Name: name, Index: index, Type: f.Type, tagged: name != ""}
		if name == "" {
			made.Name = f.Name
		}
		fields = append(fields, made)
	}
	return fields, ok
}

// isName reports whether encoding/json accepts a name from a tag. It ignores a name with
// other characters.
func isName(name string) bool {
	return !strings.ContainsFunc(name, func(c rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	})
}

// dominant returns the fields that are decoded. If several have the same name, the
// outermost counts. If several of these are at the same depth, the one with a tag counts.
// If that does not decide, none of them counts.
func dominant(fields []Field) []Field {
	best := make(map[string]*Field, len(fields))
	for i := range fields {
		f := &fields[i]
		switch other := best[f.Name]; {
		case other == nil, len(f.Index) < len(other.Index), len(f.Index) == len(other.Index) && f.tagged && !other.tagged:
			best[f.Name] = f
		}
	}
	return slices.DeleteFunc(slices.Clone(fields), func(f Field) bool {
		for i := range fields {
			if other := &fields[i]; other.Name == f.Name && !slices.Equal(other.Index, f.Index) &&
				len(other.Index) == len(f.Index) && other.tagged == f.tagged {
				return true
			}
		}
		return !slices.Equal(best[f.Name].Index, f.Index)
	})
}
