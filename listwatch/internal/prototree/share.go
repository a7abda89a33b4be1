package prototree

import (
	"reflect"
	"slices"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// minShared is the length from which on a part of an object is looked for among those
	// that have been met. A shorter one is decoded in the time that looking takes.
	minShared = 32

	// maxShared is how deep a part may lie that is looked for. Each level is hashed with all
	// that it holds: without a bound, messages in messages would be hashed again at each.
	maxShared = 32
)

// What follows lets parts of objects that are equal be one in memory, where that is asked
// for: what a pointer, a
// slice or a map leads to, below the object itself and its metadata, which are always
// its own. The containers of a Pod come again with each of its events, and with those of
// its neighbours, where its status does not: they are found by their bytes, which takes
// a twentieth of the time of decoding them, and no memory.
//
// A part can only be shared if nothing is added to it later: see [fields.decode], which
// takes fields in order, once each, while parts are shared. Nor must anybody write to it
// who means to read: see [mayCache].

// mayCache reports whether a method of a type may write to the value that it is called
// on, although it only tells something of it. A resource.Quantity that is asked for its
// text remembers that: two goroutines that read different objects would write to one
// place. Generated code does no such thing; of all else, what is known not to is listed.
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

// looksFor reports whether a part is looked for among those that have been met.
func (p *parser) looksFor(text []byte) bool {
	return p.sharing && p.depth < maxShared && len(text) >= minShared
}

// part decodes a part. worth says that it can be shared, and is worth to be kept.
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

// sharedRun is decode, the decoder of a slice or a map, with a memory.
func sharedRun(typ reflect.Type, decode decodeMany) decodeMany {
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

// sharedPointer is a pointerDecoder for messages, with a memory.
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

// sharedMessage is decode, the decoder of a struct, with a memory: the struct is copied,
// and what it leads to is shared.
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

// managedRun is decode, the decoder of managedFields, which are shared wherever they are
// equal: they are replaced as a whole, if at all, and not written to.
func managedRun(decode decodeMany) decodeMany {
	return func(p *parser, in run, at unsafe.Pointer) bool {
		to := (*[]metav1.ManagedFieldsEntry)(at)
		if len(*to) > 0 {
			return decode(p, in, at) // a second run adds to the first
		}
		if entries, ok := p.entriesOf.Get(in.bytes); ok {
			*to = entries
			return true
		}
		p.managed = true
		ok := decode(p, in, at)
		p.managed = false
		if ok {
			*to = slices.Clip(*to) // who appends to it copies it
			p.entriesOf.Put(in.bytes, *to)
		}
		return ok
	}
}

// private is decode, the decoder of metadata, of which nothing is shared but managedFields
// and strings: its owner may want to write into it.
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
