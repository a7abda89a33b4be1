package json

import (
	"reflect"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	// minShared is the least length of a part that is looked up among the parts of earlier
	// objects. Decoding a shorter part takes no longer than the lookup.
	minShared = 32

	// maxShared is the greatest depth of a part that is looked up. A lookup hashes all bytes
	// of a part, so without this bound deeply nested brackets would be hashed again at each
	// level.
	maxShared = 32
)

// shared returns a decoder of a slice, a map or a pointer that first looks the part up
// among the parts of earlier objects, if parts are shared here. If it finds no equal part,
// it calls decode.
func shared(typ reflect.Type, decode decoder) decoder {
	return func(p *parser, i int, at unsafe.Pointer) int {
		if c := p.at(i); !p.sharing || p.depth >= maxShared || c != '{' && c != '[' {
			return decode(p, i, at)
		}
		n := p.nodes[0]
		text := p.b[i:n.end]
		if len(text) < minShared {
			return decode(p, i, at)
		}
		v := reflect.NewAt(typ, at).Elem()
		if part, ok := p.known.parts.Get(text); ok && part.Type() == typ {
			p.nodes = p.nodes[1+n.within:]
			v.Set(part)
			return n.end
		}
		before := p.known.caching
		p.known.caching = false
		p.depth++
		end := decode(p, i, at)
		p.depth--
		if end >= 0 && !p.known.caching && p.known.parts.Met(text) {
			p.known.parts.Keep(text, reflect.ValueOf(v.Interface()))
		}
		p.known.caching = p.known.caching || before
		return end
	}
}

// private returns a decoder of metadata that shares nothing but managedFields and strings,
// because the object's owner may want to write to the metadata.
func private(decode decoder) decoder {
	return func(p *parser, i int, at unsafe.Pointer) int {
		sharing := p.sharing
		p.sharing = false
		end := decode(p, i, at)
		p.sharing = sharing
		return end
	}
}

// mayCache reports whether a method that only reads may nevertheless write to its
// receiver, for a type that decodes itself. A resource.Quantity, for example, remembers
// its text when String is called. If two objects shared it, two goroutines that read
// different objects would write to the same memory. mayCache returns false only for the
// types that are known not to do this.
func mayCache(typ reflect.Type) bool {
	switch typ {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[metav1.FieldsV1](),
		reflect.TypeFor[metav1.Duration](), reflect.TypeFor[intstr.IntOrString]():
		return false
	}
	return true
}

// managedDecoder decodes managedFields. Equal ones are always shared, because programs
// replace them as a whole and do not write to them.
func managedDecoder(decode decoder) decoder {
	return func(p *parser, i int, at unsafe.Pointer) int {
		if p.at(i) != '[' {
			return decode(p, i, at)
		}
		into := (*[]metav1.ManagedFieldsEntry)(at)
		n := p.nodes[0]
		text := p.b[i:n.end]
		if entries, ok := p.known.entries.Get(text); ok {
			p.nodes = p.nodes[1+n.within:]
			*into = entries
			return n.end
		}
		p.known.managed = true
		end := decode(p, i, at)
		p.known.managed = false
		if end >= 0 {
			p.known.entries.Put(text, *into)
		}
		return end
	}
}
