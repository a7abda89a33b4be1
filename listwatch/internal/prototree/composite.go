package prototree

import (
	"reflect"
	"unsafe"

	"github.com/relist-go/relist/listwatch/internal/protowire"
)

func pointerDecoder(elem reflect.Type, plan *plan) decodeOne {
	return func(p *parser, in value, at unsafe.Pointer) bool {
		to := (*unsafe.Pointer)(at)
		if *to == nil {
			*to = reflect.New(elem).UnsafePointer()
		}
		return plan.decode(p, in, *to)
	}
}

// maxHint bounds the size that a slice or map is made in before anything is in it.
const maxHint = 1024

// sliceDecoder appends the elements of a run. Behind them there is no room where the
// slice may come to be in a part that is shared: who appends to it copies it.
func sliceDecoder(typ reflect.Type, elem *plan) decodeMany {
	size := typ.Elem().Size()
	return func(p *parser, in run, at unsafe.Pointer) bool {
		v := reflect.NewAt(typ, at).Elem()
		n, left := v.Len(), in.len
		room, first := n, v.UnsafePointer()
		ok := in.each(func(in value) bool {
			if n == room {
				more := min(left, maxHint) // the bytes of as many elements are there
				v.Grow(more)
				v.SetLen(n + more)
				room, first = n+more, v.UnsafePointer()
			}
			n, left = n+1, left-1
			return elem.decode(p, in, unsafe.Add(first, uintptr(n-1)*size))
		})
		if ok && p.share {
			v.SetCap(n)
		}
		return ok
	}
}

// Each entry of a map is a message of its own.
const entryKey, entryValue = 1, 2

// entry takes the key and the value out of an entry. A value that is missing is empty,
// as one is written that is nil. It is false for what no writer writes.
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

func (ps *planner) mapField(typ reflect.Type) (decodeMany, bool) {
	if typ.Key().Kind() != reflect.String {
		return nil, false
	}
	if typ == reflect.TypeFor[map[string]string]() {
		return sharedRun(typ, decodeStringMap), true
	}
	elem, ok := ps.of(typ.Elem())
	if !ok {
		return nil, false
	}
	return sharedRun(typ, ps.mapDecoder(typ, elem)), true
}

func (ps *planner) mapDecoder(typ reflect.Type, elem *plan) decodeMany {
	id := ps.maps
	ps.maps++
	copied := mayCache(typ.Elem()) // who takes it out of the map writes to a copy
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

// mapEntry is a key and a value on their way into a map, which copies them.
type mapEntry struct{ key, value reflect.Value }

// take returns the entry that there is for the maps of one type, with a zero value. It
// is put back when it can be used again: in the value of a map may be another.
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

// decodeStringMap is a mapDecoder for labels and annotations.
func decodeStringMap(p *parser, in run, at unsafe.Pointer) bool {
	to := (*map[string]string)(at)
	if *to == nil {
		*to = make(map[string]string, min(in.len, maxHint))
	}
	m := *to
	return in.each(func(in value) bool {
		key, in, ok := entry(in.bytes, protowire.Bytes)
		if !ok {
			return false
		}
		m[p.text.String(key)] = p.text.String(in.bytes)
		return true
	})
}
