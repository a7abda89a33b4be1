package prototree

import (
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/relist-go/relist/listwatch/internal/protowire"
)

// pointerDecoder decodes a field that is a pointer. It allocates the element if the pointer is nil.
func pointerDecoder(elem reflect.Type, plan *plan) decodeOne {
	return func(p *parser, in value, at unsafe.Pointer) bool {
		to := (*unsafe.Pointer)(at)
		if *to == nil {
			*to = reflect.New(elem).UnsafePointer()
		}
		return plan.decode(p, in, *to)
	}
}

// maxHint is the largest number of elements for which a slice or a map allocates memory
// before the elements are decoded.
const maxHint = 1024

// slice is what a slice of any type is in memory.
type slice struct {
	first    unsafe.Pointer
	len, cap int
}

// sliceDecoder appends the elements of a run to a slice. After the first run it sets the
// capacity to the length. So a program that appends to the slice gets a copy, and does not write
// into a part that may be shared: what is shared has one run.
func sliceDecoder(typ reflect.Type, elem *plan) decodeMany {
	size := typ.Elem().Size()
	return func(p *parser, in run, at unsafe.Pointer) bool {
		to := (*slice)(at)
		began, n, left := to.len, to.len, in.len
		ok := in.each(func(in value) bool {
			switch {
			case n < to.len:
			case n == 0 && left == 1:
				*to = slice{reflect.New(typ.Elem()).UnsafePointer(), 1, 1} // without the cost of Grow
			default:
				v, more := reflect.NewAt(typ, at).Elem(), min(left, maxHint) // the message has the bytes of so many elements
				v.Grow(more)
				v.SetLen(n + more)
			}
			n, left = n+1, left-1
			return elem.decode(p, in, unsafe.Add(to.first, uintptr(n-1)*size))
		})
		if ok && began == 0 {
			to.cap = n
		}
		return ok
	}
}

// In protobuf, each entry of a map is a message with these two fields.
const entryKey, entryValue = 1, 2

// entry reads the key and the value of an entry of a map. If the value is missing, entry
// returns an empty value, because writers leave out a nil value. It returns false if the
// message is not what writers of protobuf produce: the key, and then at most one value.
func entry(message []byte, wire protowire.Type) (key []byte, in value, ok bool) {
	const keyTag = entryKey<<3 | uint64(protowire.Bytes)
	if len(message) == 0 {
		return nil, in, false
	}
	tag, first, rest, ok := next(message)
	if !ok || tag != keyTag {
		return nil, in, false
	}
	if len(rest) == 0 {
		return first.bytes, in, true
	}
	tag, in, rest, ok = next(rest)
	return first.bytes, in, ok && tag == entryValue<<3|uint64(wire) && len(rest) == 0
}

// mapField returns the decoder of a map. It returns false if the map cannot be decoded here.
func (ps *planner) mapField(typ reflect.Type) (decodeMany, bool) {
	if typ.Key().Kind() != reflect.String {
		return nil, false
	}
	switch typ.Elem() {
	case reflect.TypeFor[string]():
		return ps.sharedRun(typ, decodeStrings), true
	case reflect.TypeFor[resource.Quantity]():
		return ps.sharedRun(typ, decodeQuantities), true
	}
	elem, ok := ps.of(typ.Elem())
	if !ok {
		return nil, false
	}
	return ps.sharedRun(typ, ps.mapDecoder(typ, elem)), true
}

// mapDecoder decodes a run of entries into a map.
func (ps *planner) mapDecoder(typ reflect.Type, elem *plan) decodeMany {
	id := ps.maps
	ps.maps++
	copied := mayCache(typ.Elem()) // a program that reads such a value from the map gets a copy, so its methods write to the copy
	return func(p *parser, in run, at unsafe.Pointer) bool {
		caching := p.caching
		v := reflect.NewAt(typ, at).Elem()
		if v.IsNil() {
			v.Set(reflect.MakeMapWithSize(typ, min(in.len, maxHint)))
		}
		one := p.take(id, typ)
		valueAt := one.value.Addr().UnsafePointer()
		ok := in.each(func(in value) bool {
			name, in, ok := entry(in.bytes, elem.wire)
			if !ok {
				return false
			}
			one.key.SetString(p.text.String(name))
			if !elem.decode(p, in, valueAt) {
				return false
			}
			v.SetMapIndex(one.key, one.value)
			one.value.SetZero()
			return true
		})
		if ok {
			p.entries[id] = one
		}
		if copied {
			p.caching = caching
		}
		return ok
	}
}

// mapEntry is memory for a key and a value. Both are decoded there, and then copied into a
// map.
type mapEntry struct{ key, value reflect.Value }

// take takes the entry for the maps of one type out of the parser. Its value is zero. The
// caller puts the entry back after use. Meanwhile the value of the map may contain a map of
// the same type, which then gets a new entry.
func (p *parser) take(id int, typ reflect.Type) mapEntry {
	if id >= len(p.entries) {
		p.entries = append(p.entries, make([]mapEntry, id+1-len(p.entries))...)
	}
	one := p.entries[id]
	p.entries[id] = mapEntry{}
	if !one.key.IsValid() {
		return mapEntry{reflect.New(typ.Key()).Elem(), reflect.New(typ.Elem()).Elem()}
	}
	return one
}

// decodeStrings does the same as mapDecoder for strings, such as labels and annotations, without
// reflection. Keys of any type whose kind is string are the same in memory.
func decodeStrings(p *parser, in run, at unsafe.Pointer) bool {
	m := mapAt[string](at, in.len)
	return in.each(func(in value) bool {
		key, in, ok := entry(in.bytes, protowire.Bytes)
		if ok {
			m[p.text.String(key)] = p.text.String(in.bytes)
		}
		return ok
	})
}

// decodeQuantities does so for quantities, such as the requests of a container. It remembers them,
// because there are few. Each map gets a copy, because methods of Quantity write to it.
func decodeQuantities(p *parser, in run, at unsafe.Pointer) bool {
	m := mapAt[resource.Quantity](at, in.len)
	return in.each(func(in value) bool {
		key, in, ok := entry(in.bytes, protowire.Bytes)
		if !ok {
			return false
		}
		known, ok := p.quantities.Get(in.bytes)
		if !ok {
			known = new(resource.Quantity)
			if known.Unmarshal(in.bytes) != nil {
				return false
			}
			p.quantities.Put(in.bytes, known)
		}
		m[p.text.String(key)] = known.DeepCopy()
		return true
	})
}

// mapAt returns the map at a place, and makes it if it is nil.
func mapAt[V any](at unsafe.Pointer, hint int) map[string]V {
	to := (*map[string]V)(at)
	if *to == nil {
		*to = make(map[string]V, min(hint, maxHint))
	}
	return *to
}
