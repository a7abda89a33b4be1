package prototree

import (
	"reflect"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// minShared is the least length, in bytes, of a part that is looked up among the
	// remembered parts. To decode a shorter part takes no longer than to look it up.
	minShared = 32

	// maxShared is the largest depth at which parts are looked up. To look a part up, its
	// bytes are hashed, with the parts inside it. Without this limit, the bytes of a deeply
	// nested message would be hashed once for each level.
	maxShared = 32
)

// If New was called with share, the functions below keep equal parts of objects only once in
// memory. A part is the target of a pointer, a slice or a map. The object itself and its
// metadata are never shared. For example, the containers of a Pod are the same in each of its
// events, and often the same as in other Pods. A part is looked up by its bytes in the message.
// That takes a twentieth of the time of decoding the part, and no memory.
//
// Two things could change a shared part. First, decoding could add to a part later. So
// [fields.decode] accepts each field only once, and in order, while parts are shared.
// Second, a method that seems only to read a value could write to it: see [mayCache].

// mayCache reports whether a method that seems only to read a value of the type may write
// to that value. For example, String of a resource.Quantity stores the text in the
// Quantity. If two objects shared a Quantity, two goroutines that read different objects
// would write to the same memory. Generated code never does that. For other types mayCache
// returns true, except for those that it lists.
func mayCache(typ reflect.Type) bool {
	if typ.Kind() == reflect.Pointer || !isMessage(typ) || isGenerated(typ) {
		return false
	}
	switch typ {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[metav1.FieldsV1]():
		return false
	}
	return true
}

// looksFor reports whether to look a part up among the remembered parts. text is its bytes
// in the message.
func (p *parser) looksFor(text []byte) bool {
	return p.sharing && p.depth < maxShared && len(text) >= minShared
}

// part decodes a part. It returns ok if the part was decoded. It returns worth if the part
// can be shared and its bytes came before, so that it should be remembered.
func (p *parser) part(text []byte, decode func() bool) (worth, ok bool) {
	before := p.caching
	p.caching = false
	p.depth++
	ok = decode()
	p.depth--
	worth = ok && !p.caching && p.parts.Met(text)
	p.caching = p.caching || before
	return worth, ok
}

// sharedRun returns a decoder of a slice or a map. If parts are shared, it reuses a remembered
// value if there is one, and otherwise calls decode.
func (ps *planner) sharedRun(typ reflect.Type, decode decodeMany) decodeMany {
	if !ps.share {
		return decode
	}
	return func(p *parser, in run, at unsafe.Pointer) bool {
		if !p.looksFor(in.bytes) {
			return decode(p, in, at)
		}
		v := reflect.NewAt(typ, at).Elem()
		if part, ok := p.parts.Get(in.bytes); ok && part.Type() == typ {
			v.Set(part)
			return true
		}
		worth, ok := p.part(in.bytes, func() bool { return decode(p, in, at) })
		if worth {
			p.parts.Keep(in.bytes, reflect.ValueOf(v.Interface()))
		}
		return ok
	}
}

// sharedPointer returns a decoder of a pointer to a struct. It reuses a remembered struct
// if there is one.
func sharedPointer(elem reflect.Type, plan *plan) decodeOne {
	decode, typ := pointerDecoder(elem, plan), reflect.PointerTo(elem)
	return func(p *parser, in value, at unsafe.Pointer) bool {
		if !p.looksFor(in.bytes) {
			return decode(p, in, at)
		}
		to := (*unsafe.Pointer)(at)
		if part, ok := p.parts.Get(in.bytes); ok && part.Type() == typ {
			*to = part.UnsafePointer()
			return true
		}
		made := reflect.New(elem)
		worth, ok := p.part(in.bytes, func() bool { return plan.whole(p, in, made.UnsafePointer()) })
		if worth {
			p.parts.Keep(in.bytes, made)
		}
		*to = made.UnsafePointer()
		return ok
	}
}

// sharedMessage returns a decoder of a struct that is a field or an element. It copies a
// remembered struct if there is one, and otherwise calls decode. The copies share the
// targets of their pointers, slices and maps.
func sharedMessage(typ reflect.Type, decode decodeOne) decodeOne {
	pointer := reflect.PointerTo(typ)
	return func(p *parser, in value, at unsafe.Pointer) bool {
		if !p.looksFor(in.bytes) {
			return decode(p, in, at)
		}
		v := reflect.NewAt(typ, at).Elem()
		if part, ok := p.parts.Get(in.bytes); ok && part.Type() == pointer {
			v.Set(part.Elem())
			return true
		}
		worth, ok := p.part(in.bytes, func() bool { return decode(p, in, at) })
		if worth {
			part := reflect.New(typ)
			part.Elem().Set(v)
			p.parts.Keep(in.bytes, part)
		}
		return ok
	}
}

// private returns a decoder of metadata that calls decode and shares nothing but
// fieldsV1 and strings, because a program may write into the metadata of its object.
func private(decode decodeOne) decodeOne {
	return func(p *parser, in value, at unsafe.Pointer) bool {
		sharing := p.sharing
		p.sharing = false
		ok := decode(p, in, at)
		p.sharing = sharing
		return ok
	}
}

var metadataType = reflect.TypeFor[metav1.ObjectMeta]()
