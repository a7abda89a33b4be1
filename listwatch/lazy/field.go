package lazy

import (
	"encoding"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/relist-go/relist/listwatch/internal/jsonfields"
	"github.com/relist-go/relist/listwatch/internal/wire"
	"github.com/relist-go/relist/object"
)

// A Field is a member of type V at a path, such as spec.nodeName. If it is in [Options.Fields], it
// is decoded when an object comes.
type Field[V any] struct{ path string }

// At returns the field at a path: the names of members in JSON with dots between them. The path may
// lead through structs, and not through a list or a map; those can only be its end.
func At[V any](path string) Field[V] { return Field[V]{path} }

// Of returns the value of the field in an object. It is the zero value if the object lacks the
// member. The caller must not change it.
//
// Of takes about 20 ns if [Options.Fields] has the field. Otherwise it does what [Path] does, and
// returns the zero value for an error.
func (f Field[V]) Of(obj Lazy) V {
	if value, ok := obj.named(f.path).(*V); ok {
		return *value
	}
	value, _ := Path[V](obj, f.path)
	return value
}

func (f Field[V]) named() (path string, typ reflect.Type) { return f.path, reflect.TypeFor[V]() }

// Named is a [Field] of any type.
type Named interface {
	named() (path string, typ reflect.Type)
}

// Lazy is an [Object] of any type.
type Lazy interface {
	object.Object
	named(path string) any
	part(path string, typ reflect.Type) (reflect.Value, error)
}

// Path decodes the member of an object at a path, as [At] has it, and nothing else of the object.
// Each call returns a value of its own, as Get does. Path returns an error if T has no such member
// of type V, or if nothing was decoded into the object.
func Path[V any](obj Lazy, path string) (V, error) {
	value, err := obj.part(path, reflect.TypeFor[V]())
	if err != nil {
		return *new(V), err
	}
	v, _ := value.Interface().(V) // of null for an interface, Interface returns nil, which is no V
	return v, nil
}

// named returns a pointer to the value of a named field, or nil.
func (o *content) named(path string) any {
	if o.from == nil {
		return nil
	}
	i, ok := o.from.named[path]
	if !ok {
		return nil
	}
	return reflect.ValueOf(o.values).Elem().Field(i).Addr().Interface()
}

func (o *Object[T]) part(path string, typ reflect.Type) (reflect.Value, error) {
	if o.from == nil {
		return reflect.Value{}, errEmpty
	}
	value, err := o.from.part(o.Bytes(), path, typ)
	if err != nil {
		return reflect.Value{}, fmt.Errorf("lazy: %s: %w", o, err)
	}
	return value, nil
}

func (r *reader) part(data []byte, path string, typ reflect.Type) (reflect.Value, error) {
	type key struct {
		path string
		typ  reflect.Type
	}
	known, ok := r.parts.Load(key{path, typ})
	if !ok {
		made, err := r.newPart(wanted{path, typ})
		if err != nil {
			return reflect.Value{}, err
		}
		known, _ = r.parts.LoadOrStore(key{path, typ}, made)
	}
	p := known.(*part)
	into := reflect.New(p.typ)
	if err := p.unmarshal(data, into.Interface()); err != nil {
		return reflect.Value{}, fmt.Errorf("%s: %w", path, err)
	}
	return follow(into.Elem(), p.places[0], typ), nil
}

// wanted is a member at a path, and the type that it must have.
type wanted struct {
	path string
	typ  reflect.Type
}

// names returns the names of the path, if typ has a member there of the wanted type.
func (w wanted) names(typ reflect.Type) ([]string, error) {
	names, err := wire.ParsePath(w.path)
	if err != nil {
		return nil, err
	}
	if names[0] == "kind" || names[0] == "apiVersion" {
		return nil, errors.New("items of lists do not have it")
	}
	place, err := locate(typ, names)
	if err != nil {
		return nil, err
	}
	if at := typeAt(typ, place); at != w.typ {
		return nil, fmt.Errorf("it is %v, and not %v", at, w.typ)
	}
	return names, nil
}

// locate returns the indexes of the fields that lead to a member.
func locate(typ reflect.Type, names []string) (place []int, err error) {
	for n, name := range names {
		typ = pointee(typ)
		way := strings.Join(names[:n], ".")
		switch pointer := reflect.PointerTo(typ); {
		case typ.Kind() != reflect.Struct:
			return nil, fmt.Errorf("%s is %v, and no struct: name %s itself", way, typ, way)
		case pointer.Implements(jsonType) || pointer.Implements(textType):
			return nil, fmt.Errorf("%v decodes itself, so only the whole of it can be decoded", typ)
		}
		step := jsonfields.Index(typ, name)
		if step == nil {
			return nil, fmt.Errorf("%v has no member %s that encoding/json would decode", typ, name)
		}
		place, typ = append(place, step...), typeAt(typ, step)
	}
	return place, nil
}

var (
	jsonType = reflect.TypeFor[stdjson.Unmarshaler]()
	textType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// jsonName returns the name that a field's tag gives it in JSON, if any.
func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

func typeAt(typ reflect.Type, place []int) reflect.Type {
	for _, i := range place {
		typ = pointee(typ).Field(i).Type
	}
	return typ
}

func pointee(typ reflect.Type) reflect.Type {
	if typ.Kind() == reflect.Pointer {
		return typ.Elem()
	}
	return typ
}

// follow returns the value at a place, or the zero value if a pointer on the way is nil.
func follow(v reflect.Value, place []int, typ reflect.Type) reflect.Value {
	for _, i := range place {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Zero(typ)
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	if v.Type() != typ {
		v = v.Convert(typ) // a member of the metadata, whose type in meta is another one
	}
	return v
}

// narrow returns a struct type that has only the members of typ at paths, with their tags. Each
// path leads to a member.
func narrow(typ reflect.Type, paths [][]string) reflect.Type {
	return reflect.StructOf(appendNarrow(nil, typ, paths))
}

func appendNarrow(fields []reflect.StructField, typ reflect.Type, paths [][]string) []reflect.StructField {
	for i := range typ.NumField() {
		field := typ.Field(i)
		var below [][]string
		var name string // of the member that the field is, if it is not an embedded struct
		whole, embedded := false, false
		for _, path := range paths {
			switch step := jsonfields.Index(typ, path[0]); {
			case step[0] != i:
			case len(step) > 1:
				embedded = true
				below = append(below, path) // all of it is in the embedded struct
			default:
				name = path[0]
				whole = whole || len(path) == 1
				below = append(below, path[1:])
			}
		}
		if len(below) == 0 {
			continue
		}
		if _, isMessage := field.Tag.Lookup("protobuf"); embedded && !isMessage {
			fields = appendNarrow(fields, pointee(field.Type), below) // as JSON has them, beside the others
			continue
		}
		if !whole {
			below := narrow(pointee(field.Type), below)
			if field.Type.Kind() == reflect.Pointer {
				below = reflect.PointerTo(below)
			}
			field.Type = below
		}
		if !embedded {
			_, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			field.Tag = reflect.StructTag(fmt.Sprintf("json:%q ", name+","+options)) + field.Tag // the first json counts
		}
		field.Name = fmt.Sprintf("F%d", len(fields)) // exported, and unique: fields of several structs may have one name
		fields = append(fields, reflect.StructField{Name: field.Name, Type: field.Type, Tag: field.Tag, Anonymous: embedded})
	}
	return fields
}
