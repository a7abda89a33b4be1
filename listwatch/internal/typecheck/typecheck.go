// Package typecheck finds out, before the first object arrives, whether objects of a
// resource can be decoded into a Go type as its author must have meant.
//
// encoding/json says nothing about a tag that it does not understand or a field that has
// none: the field stays empty. [Check] says what is wrong with which field, and what to
// write instead. It begins with the tags of every field, and ends with a probe: an object
// whose name, namespace, UID and resourceVersion the type's getters must return.
package typecheck

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// Check returns an error if objects cannot be decoded into typ, a struct or a pointer to
// one. namespaced says that every object will have a namespace.
//
// namespace reports whether typ is known to return the namespace of its objects. If not,
// typ is for cluster-scoped objects, or its GetNamespace is wrong: only an object can tell.
// The error for such an object is [WrongNamespace].
//
// Fields are checked of structs that come from the same module as typ, and of literal
// ones: whoever calls New can mend those. Structs of other modules are taken as Go takes
// them. What lies behind a method UnmarshalJSON or UnmarshalText is that method's business.
func Check(typ reflect.Type, namespaced bool) (namespace bool, err error) {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	c := checker{module: moduleOf(typ.PkgPath()), seen: map[reflect.Type]bool{}}
	if err = c.check(typ, ""); err == nil {
		namespace, err = probe(typ, namespaced)
	}
	if err != nil {
		return false, fmt.Errorf("objects cannot be decoded into %v: %w", typ, err)
	}
	return namespace, nil
}

// moduleOf returns what a package path has in common with those of the same module: three
// elements if the first is the name of a host, one otherwise.
func moduleOf(path string) string {
	elements := strings.Split(path, "/")
	if !strings.Contains(elements[0], ".") {
		return elements[0]
	}
	return strings.Join(elements[:min(3, len(elements))], "/")
}

type checker struct {
	module string
	seen   map[reflect.Type]bool
}

var (
	jsonType = reflect.TypeFor[json.Unmarshaler]()
	textType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// check checks a type that is decoded at a path of fields, "" for the object itself.
func (c *checker) check(typ reflect.Type, path string) error {
	if typ.Kind() != reflect.Pointer && decodesItself(typ) {
		if typ.Kind() == reflect.Struct && c.isOwn(typ) {
			return promoted(typ, path)
		}
		return nil
	}
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return c.check(typ.Elem(), path)
	case reflect.Map:
		if key := typ.Key(); !isKey(key) {
			return fmt.Errorf("%s is a map whose keys are %v; write a map with keys of a string or an integer kind, or give the key a method UnmarshalText", field(path), key)
		}
		return c.check(typ.Elem(), path)
	case reflect.Struct:
		if !c.isOwn(typ) || c.seen[typ] {
			return nil
		}
		c.seen[typ] = true
		return c.checkStruct(typ, path)
	case reflect.Interface:
		if typ.NumMethod() > 0 {
			return fmt.Errorf("%s is the interface %v, and which type to put into it is unknown; write any, or a type with a method UnmarshalJSON", field(path), typ)
		}
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return fmt.Errorf("%s is a %v, which nothing can be decoded into; write `json:\"-\"`", field(path), typ.Kind())
	default:
	}
	return nil
}

func (c *checker) isOwn(typ reflect.Type) bool {
	return typ.Name() == "" || moduleOf(typ.PkgPath()) == c.module
}

func decodesItself(typ reflect.Type) bool {
	pointer := reflect.PointerTo(typ)
	return pointer.Implements(jsonType) || pointer.Implements(textType)
}

// isKey reports whether the names of an object can be keys of this type.
func isKey(typ reflect.Type) bool {
	switch typ.Kind() {
	case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return true
	default:
		return reflect.PointerTo(typ).Implements(textType)
	}
}

// promoted returns an error if the method by which a struct decodes itself is that of an
// embedded field, and there is more in the struct.
func promoted(typ reflect.Type, path string) error {
	// Of a method of the value, the compiler makes one of a pointer: the value's tells.
	// Names of methods must be constants: for any other the linker keeps all methods there are.
	for _, typ := range []reflect.Type{typ, reflect.PointerTo(typ)} {
		if method, ok := typ.MethodByName("UnmarshalJSON"); ok {
			return promotedFrom(structOf(typ), path, method, jsonType)
		}
		if method, ok := typ.MethodByName("UnmarshalText"); ok {
			return promotedFrom(structOf(typ), path, method, textType)
		}
	}
	return nil
}

func promotedFrom(typ reflect.Type, path string, method reflect.Method, has reflect.Type) error {
	// The language does not tell; the compiler says so of the method that it makes.
	pc := method.Func.Pointer()
	if file, _ := runtime.FuncForPC(pc).FileLine(pc); file != "<autogenerated>" {
		return nil
	}
	from, others := "", 0
	var pointer bool
	for i := range typ.NumField() {
		f := typ.Field(i)
		switch {
		case f.Anonymous && (f.Type.Implements(has) || reflect.PointerTo(f.Type).Implements(has)):
			from, pointer = f.Name, f.Type.Kind() == reflect.Pointer
		case f.IsExported() && f.Tag.Get("json") != "-":
			others++
		}
	}
	switch {
	case from != "" && others > 0:
		return fmt.Errorf("%s has the method %s of the embedded field %s, which knows nothing of the other fields; write a method of its own, or give %s a name", field(path), method.Name, from, from)
	case from != "" && pointer:
		return fmt.Errorf("%s has the method %s of the embedded field %s, which is a nil pointer; embed the struct itself", field(path), method.Name, from)
	}
	return nil
}

// field names a field in an error.
func field(path string) string {
	if path == "" {
		return "it"
	}
	return "field " + path
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// checkStruct checks each field of a struct, and that no two have one name.
func (c *checker) checkStruct(typ reflect.Type, path string) error {
	for i := range typ.NumField() {
		f := typ.Field(i)
		decoded, err := checkTag(f, join(path, f.Name))
		if err != nil {
			return err
		}
		if !decoded {
			continue
		}
		if err := c.check(f.Type, join(path, f.Name)); err != nil {
			return err
		}
	}
	names := flatten(typ, nil, nil)
	for i, a := range names {
		for _, b := range names[:i] {
			if a.name == b.name && a.depth() == b.depth() && a.tagged == b.tagged && !hidden(names, a) {
				return fmt.Errorf("fields %s and %s are both %q, so that neither is decoded; rename one, or write `json:\"-\"`",
					join(path, strings.Join(b.path, ".")), join(path, strings.Join(a.path, ".")), a.name)
			}
		}
	}
	return nil
}

// named is a field with a name, of a struct or of one that is embedded in it.
type named struct {
	name   string
	path   []string
	tagged bool
}

func (n named) depth() int { return len(n.path) }

// hidden reports whether another field of the same name counts, by the rules of
// encoding/json: one that is less deep, or as deep and has a tag.
func hidden(names []named, n named) bool {
	return slices.ContainsFunc(names, func(o named) bool {
		return o.name == n.name && (o.depth() < n.depth() || o.depth() == n.depth() && o.tagged && !n.tagged)
	})
}

func flatten(typ reflect.Type, path []string, outer []reflect.Type) (names []named) {
	if slices.Contains(outer, typ) {
		return nil
	}
	outer = append(slices.Clone(outer), typ)
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		below := append(slices.Clone(path), f.Name)
		switch {
		case f.Tag.Get("json") == "-":
		case name == "" && isEmbedded(f):
			names = append(names, flatten(structOf(f.Type), below, outer)...)
		case f.IsExported():
			tagged := name != ""
			if !tagged {
				name = f.Name
			}
			names = append(names, named{name, below, tagged})
		}
	}
	return names
}
