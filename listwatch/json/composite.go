package json

import (
	"math/bits"
	"reflect"
	"sync"
	"unsafe"

	"github.com/relist-go/relist/listwatch/internal/jsonfields"
)

// maxFields is how many fields a struct may have. A PodSpec has 41.
const maxFields = 128

// seen holds one bit for each field of a struct: whether the field has come.
type seen [maxFields / bits.UintSize]uint

// first records that a field has come, and reports whether this is the first time.
func (s *seen) first(i int) bool {
	word, bit := i/bits.UintSize, uint(1)<<(i%bits.UintSize)
	before := s[word]
	s[word] |= bit
	return before&bit == 0
}

// member is a field of a struct, or of a struct embedded in it.
type member struct {
	name   string
	offset uintptr
	plan   *plan
}

// fieldsDecoder decodes an object into a struct. It skips members without a field.
func fieldsDecoder(typ reflect.Type, fields []jsonfields.Field, ps *planner) decoder {
	byName := make(map[string]int, len(fields))
	members := make([]member, len(fields))
	for i, f := range fields {
		byName[f.Name] = i
		members[i] = member{name: f.Name, plan: ps.plan(f.Type)}
		within := typ
		for _, index := range f.Index {
			members[i].offset += within.Field(index).Offset
			within = within.Field(index).Type
		}
	}
	return func(p *parser, i int, at unsafe.Pointer) int {
		if p.at(i) == 'n' {
			return p.null(i)
		}
		var (
			came seen
			next int // servers write the members in the order of the fields
		)
		return p.members(i, func(name []byte, i int) int {
			this := -1
			for ahead := next; ahead < min(next+4, len(members)); ahead++ {
				if members[ahead].name == string(name) {
					this = ahead
					break
				}
			}
			if this < 0 {
				var ok bool
				if this, ok = byName[string(name)]; !ok {
					return p.skip(i)
				}
			}
			next = this + 1
			if !came.first(this) {
				return elsewhere // the second is merged into the first
			}
			m := &members[this]
			return m.plan.decode(p, i, unsafe.Add(at, m.offset))
		})
	}
}

// members walks through the object at b[i]. It calls visit with the name of each member
// and the position of the value; visit returns the position after the value.
func (p *parser) members(i int, visit func(name []byte, i int) int) int {
	if p.at(i) != '{' {
		return elsewhere
	}
	p.next()
	i = p.space(i + 1)
	if p.at(i) == '}' {
		return i + 1
	}
	for {
		if p.at(i) != '"' {
			return elsewhere
		}
		end := plainEnd(p.b, i+1)
		if end < 0 {
			return elsewhere // a name with escapes
		}
		name := p.b[i+1 : end]
		if i = p.space(end + 1); p.at(i) != ':' {
			return elsewhere
		}
		if i = visit(name, p.space(i+1)); i < 0 {
			return elsewhere
		}
		switch i = p.space(i); p.at(i) {
		case ',':
			i = p.space(i + 1)
		case '}':
			return i + 1
		default:
			return elsewhere
		}
	}
}

// maxGrow is for how many elements a slice gets room before the first has come.
const maxGrow = 64

func sliceDecoder(typ reflect.Type, element *plan) decoder {
	size := typ.Elem().Size()
	return func(p *parser, i int, at unsafe.Pointer) int {
		if p.at(i) == 'n' {
			return p.null(i)
		}
		if p.at(i) != '[' {
			return elsewhere
		}
		n := p.next()
		v := reflect.NewAt(typ, at).Elem()
		if i = p.space(i + 1); p.at(i) == ']' {
			v.Set(reflect.MakeSlice(typ, 0, 0))
			return i + 1
		}
		v.Grow(min(n.members, maxGrow))
		for count := 0; ; count++ {
			if count == v.Cap() {
				v.Grow(1)
			}
			v.SetLen(count + 1)
			if i = element.decode(p, i, unsafe.Add(v.UnsafePointer(), uintptr(count)*size)); i < 0 {
				return elsewhere
			}
			switch i = p.space(i); p.at(i) {
			case ',':
				i = p.space(i + 1)
			case ']':
				v.SetCap(count + 1) // an append then copies the slice, which may be shared
				return i + 1
			default:
				return elsewhere
			}
		}
	}
}

func pointerDecoder(typ reflect.Type, to *plan) decoder {
	return func(p *parser, i int, at unsafe.Pointer) int {
		if p.at(i) == 'n' {
			return p.null(i)
		}
		target := reflect.New(typ.Elem()).UnsafePointer()
		*(*unsafe.Pointer)(at) = target
		return to.decode(p, i, target)
	}
}

func mapDecoder(typ reflect.Type, element *plan) decoder {
	// A value that is taken out of the map is a copy, and its methods write to the copy.
	copied := typ.Elem().Kind() != reflect.Pointer && hasMethods(typ.Elem())
	type entry struct{ key, value reflect.Value } // memory where each is decoded, and then copied into the map
	entries := sync.Pool{New: func() any {
		return &entry{reflect.New(typ.Key()).Elem(), reflect.New(typ.Elem()).Elem()}
	}}
	return func(p *parser, i int, at unsafe.Pointer) int {
		if p.at(i) == 'n' {
			return p.null(i)
		}
		if p.at(i) != '{' {
			return elsewhere
		}
		m := reflect.MakeMapWithSize(typ, min(p.nodes[0].members, maxHint))
		one := entries.Get().(*entry)
		reflect.NewAt(typ, at).Elem().Set(m)
		caching := p.known.caching
		end := p.members(i, func(name []byte, i int) int {
			one.key.SetString(p.text.String(name))
			one.value.SetZero()
			end := element.decode(p, i, one.value.Addr().UnsafePointer())
			if end < 0 {
				return elsewhere
			}
			m.SetMapIndex(one.key, one.value) // if a key occurs twice, the second entry counts
			return end
		})
		if copied {
			p.known.caching = caching
		}
		one.value.SetZero()
		entries.Put(one)
		return end
	}
}

// decodeStringMap is mapDecoder for the most common maps: labels, annotations,
// selectors.
func decodeStringMap(p *parser, i int, at unsafe.Pointer) int {
	if p.at(i) == 'n' {
		return p.null(i)
	}
	if p.at(i) != '{' {
		return elsewhere
	}
	m := make(map[string]string, min(p.nodes[0].members, maxHint))
	*(*map[string]string)(at) = m
	return p.members(i, func(name []byte, i int) int {
		value, end := p.stringOrNull(i)
		m[p.text.String(name)] = value
		return end
	})
}
