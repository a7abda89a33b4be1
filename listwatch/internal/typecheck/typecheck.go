// Package typecheck finds out, before the first object arrives, whether objects of a
// resource can be decoded into a Go type as its author must have meant.
//
// It decodes a probe: an object whose name, namespace, UID and resourceVersion the type's
// getters must return. Every other field is taken as encoding/json takes it.
package typecheck

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
)

// Check returns an error if objects cannot be decoded into typ, a struct or a pointer to
// one. namespaced says that every object will have a namespace.
//
// namespace reports whether typ is known to return the namespace of its objects. If not,
// typ is for cluster-scoped objects, or its GetNamespace is wrong: only an object can tell.
// The error for such an object is [WrongNamespace].
func Check(typ reflect.Type, namespaced bool) (namespace bool, err error) {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if namespace, err = probe(typ, namespaced); err != nil {
		return false, fmt.Errorf("objects cannot be decoded into %v: %w", typ, err)
	}
	return namespace, nil
}

var (
	jsonType = reflect.TypeFor[json.Unmarshaler]()
	textType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func decodesItself(typ reflect.Type) bool {
	pointer := reflect.PointerTo(typ)
	return pointer.Implements(jsonType) || pointer.Implements(textType)
}
