package informer

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"reflect"
)

// shape is a hash of the parts of a type that can be saved: the names, tags and types of its fields, at every depth. If a program
// is built with another type, a copy that was saved with the old type may lack fields.
func shape(typ reflect.Type) string {
	h := sha256.New()
	writeShape(h, typ, map[reflect.Type]bool{})
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func writeShape(h hash.Hash, typ reflect.Type, seen map[reflect.Type]bool) {
	_, _ = fmt.Fprintf(h, "%s %s.%s;", typ.Kind(), typ.PkgPath(), typ.Name()) // a hash never fails
	if seen[typ] {
		return
	}
	seen[typ] = true
	switch typ.Kind() {
	case reflect.Struct:
		for i := range typ.NumField() {
			field := typ.Field(i)
			if !field.IsExported() && !field.Anonymous {
				continue
			}
			_, _ = fmt.Fprintf(h, "%s %q ", field.Name, field.Tag)
			writeShape(h, field.Type, seen)
		}
	case reflect.Map:
		writeShape(h, typ.Key(), seen)
		writeShape(h, typ.Elem(), seen)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		writeShape(h, typ.Elem(), seen)
	default: // it has no parts
	}
}
