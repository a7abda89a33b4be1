package informertest

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
)

// field is one value inside of an object. The value has no parts.
type field struct {
	path  string // as Go writes it: Spec.Containers[0].Image, Labels["app"]
	value string
}

// fieldsOf returns every value inside of an object. It keeps texts, and no copy of the object. So
// it does not matter whether the object's types can be copied.
func fieldsOf(object any) []field {
	var w walk
	w.value("", reflect.ValueOf(object), true)
	return w.fields
}

// walk goes through a value from the outside in.
type walk struct {
	fields []field
	within []visit // the pointers, maps and slices around the value, so that a cycle ends
}

type visit struct {
	address uintptr
	typ     reflect.Type
}

func (w *walk) leaf(path, value string) { w.fields = append(w.fields, field{path, value}) }

// value adds v and what is in it. whole is true for the object itself: its fields are added even if
// ownText has a text for it, because the fields say more.
func (w *walk) value(path string, v reflect.Value, whole bool) {
	switch v.Kind() {
	case reflect.Struct:
		if text, ok := ownText(v); ok && !whole {
			w.leaf(path, text)
			return
		}
		for i := range v.NumField() {
			w.member(path, v.Type().Field(i), v.Field(i))
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			w.leaf(path, "nil")
			return
		}
		w.inside(v, func() { w.value(path, v.Elem(), whole) })
	case reflect.Map:
		w.leaf(path, nilness(v))
		w.inside(v, func() {
			for _, e := range entries(v) {
				w.value(path+"["+e.key+"]", e.value, false)
			}
		})
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			w.leaf(path, fmt.Sprintf("%q", v.Bytes()))
			return
		}
		w.leaf(path, nilness(v))
		w.inside(v, func() { w.elements(path, v) })
	case reflect.Array:
		w.elements(path, v)
	case reflect.String:
		w.leaf(path, strconv.Quote(v.String()))
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		w.leaf(path, nilness(v))
	default: // a number or a bool, which fmt reads also where v.Interface would panic
		w.leaf(path, fmt.Sprint(v))
	}
}

// member adds a field of a struct. As Go allows, the path of a field of an embedded struct does not
// name that struct. An unexported field that refers to something else is left out, because it is
// often filled in at the first use.
func (w *walk) member(path string, f reflect.StructField, v reflect.Value) {
	if !f.IsExported() && !f.Anonymous {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice:
			return
		default:
		}
	}
	switch _, hasText := ownText(v); {
	case f.Anonymous && v.Kind() == reflect.Struct && !hasText:
	case path == "":
		path = f.Name
	default:
		path += "." + f.Name
	}
	w.value(path, v, false)
}

func (w *walk) elements(path string, v reflect.Value) {
	for i := range v.Len() {
		w.value(fmt.Sprintf("%s[%d]", path, i), v.Index(i), false)
	}
}

// inside calls next, which continues with what v refers to. If the walk is inside of that already,
// it does not call next.
func (w *walk) inside(v reflect.Value, next func()) {
	if v.Kind() != reflect.Interface {
		here := visit{v.Pointer(), v.Type()}
		if slices.Contains(w.within, here) {
			return
		}
		w.within = append(w.within, here)
		defer func() { w.within = w.within[:len(w.within)-1] }()
	}
	next()
}

// nilness says whether v is nil. For a map or a slice, this is one more field, beside the fields of
// its elements.
func nilness(v reflect.Value) string {
	if v.IsNil() {
		return "nil"
	}
	return "not nil"
}

type entry struct {
	key   string
	value reflect.Value
}

// entries returns the entries of a map in the order of their keys.
func entries(v reflect.Value) []entry {
	all := make([]entry, 0, v.Len())
	for it := v.MapRange(); it.Next(); {
		key := fmt.Sprint(it.Key())
		if it.Key().Kind() == reflect.String {
			key = strconv.Quote(it.Key().String())
		}
		all = append(all, entry{key, it.Value()})
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	return all
}

// ownText returns the text of a struct that hides what it is made of, such as time.Time, netip.Addr
// and resource.Quantity. Such a value may change its parts when it is read. The text is that of a
// copy.
func ownText(v reflect.Value) (string, bool) {
	if v.Kind() != reflect.Struct || !v.CanInterface() || !hides(v.Type()) {
		return "", false
	}
	c := reflect.New(v.Type())
	c.Elem().Set(v)
	var text []byte
	var err error
	switch m := c.Interface().(type) {
	case encoding.TextMarshaler:
		text, err = m.MarshalText()
	case json.Marshaler:
		text, err = m.MarshalJSON()
	default:
		return "", false
	}
	return string(text), err == nil
}

func hides(typ reflect.Type) bool {
	for i := range typ.NumField() {
		if f := typ.Field(i); !f.IsExported() && !f.Anonymous {
			return true
		}
	}
	return false
}
