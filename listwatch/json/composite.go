package json

import (
	"math/bits"
	"reflect"

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

// fieldsDecoder decodes an object into a struct. It skips members without a field.
func fieldsDecoder(fields []jsonfields.Field, ps *planner) func(*parser, int, reflect.Value) (int, error) {
	byName := make(map[string]int, len(fields))
	members := make([]*plan, len(fields))
	for i, f := range fields {
		byName[f.Name] = i
		members[i] = ps.plan(f.Type)
	}
	return func(p *parser, i int, v reflect.Value) (int, error) {
		if p.at(i) == 'n' {
			return p.null(i)
		}
		var (
			came seen
			next int // servers write the members in the order of the fields
		)
		return p.members(i, func(name []byte, i int) (int, error) {
			at := -1
			for ahead := next; ahead < min(next+4, len(fields)); ahead++ {
				if fields[ahead].Name == string(name) {
					at = ahead
					break
				}
			}
			if at < 0 {
				var ok bool
				if at, ok = byName[string(name)]; !ok {
					return p.skip(i)
				}
			}
			next = at + 1
			if !came.first(at) {
				return i, errElsewhere // the second is merged into the first
			}
			target := v
			for _, index := range fields[at].Index {
				target = target.Field(index)
			}
			return members[at].decode(p, i, target)
		})
	}
}

// members walks through the object at b[i]. It calls visit with the name of each member
// and the position of the value; visit returns the position after the value.
func (p *parser) members(i int, visit func(name []byte, i int) (int, error)) (int, error) {
	if p.at(i) != '{' {
		return i, errElsewhere
	}
	p.next()
	i = p.space(i + 1)
	if p.at(i) == '}' {
		return i + 1, nil
	}
	for {
		if p.at(i) != '"' {
			return i, errElsewhere
		}
		end := plainEnd(p.b, i+1)
		if end < 0 {
			return i, errElsewhere // a name with escapes
		}
		name := p.b[i+1 : end]
		if i = p.space(end + 1); p.at(i) != ':' {
			return i, errElsewhere
		}
		var err error
		if i, err = visit(name, p.space(i+1)); err != nil {
			return i, err
		}
		switch i = p.space(i); p.at(i) {
		case ',':
			i = p.space(i + 1)
		case '}':
			return i + 1, nil
		default:
			return i, errElsewhere
		}
	}
}

// maxGrow is for how many elements a slice gets room before the first has come.
const maxGrow = 64

func sliceDecoder(element *plan) func(*parser, int, reflect.Value) (int, error) {
	return func(p *parser, i int, v reflect.Value) (int, error) {
		if p.at(i) == 'n' {
			return p.null(i)
		}
		if p.at(i) != '[' {
			return i, errElsewhere
		}
		n := p.next()
		if i = p.space(i + 1); p.at(i) == ']' {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
			return i + 1, nil
		}
		v.Grow(min(n.members, maxGrow))
		for count := 0; ; count++ {
			if count == v.Cap() {
				v.Grow(1)
			}
			v.SetLen(count + 1)
			var err error
			if i, err = element.decode(p, i, v.Index(count)); err != nil {
				return i, err
			}
			switch i = p.space(i); p.at(i) {
			case ',':
				i = p.space(i + 1)
			case ']':
				return i + 1, nil
			default:
				return i, errElsewhere
			}
		}
	}
}

func pointerDecoder(typ reflect.Type, to *plan) func(*parser, int, reflect.Value) (int, error) {
	return func(p *parser, i int, v reflect.Value) (int, error) {
		if p.at(i) == 'n' {
			return p.null(i)
		}
		target := reflect.New(typ.Elem())
		end, err := to.decode(p, i, target.Elem())
		v.Set(target)
		return end, err
	}
}

func mapDecoder(typ reflect.Type, element *plan) func(*parser, int, reflect.Value) (int, error) {
	// A value that is taken out of the map is a copy, and its methods write to the copy.
	copied := typ.Elem().Kind() != reflect.Pointer && hasMethods(typ.Elem())
	return func(p *parser, i int, v reflect.Value) (int, error) {
		if p.at(i) == 'n' {
			return p.null(i)
		}
		if p.at(i) != '{' {
			return i, errElsewhere
		}
		m := reflect.MakeMapWithSize(typ, min(p.nodes[0].members, maxHint))
		key, value := reflect.New(typ.Key()).Elem(), reflect.New(typ.Elem()).Elem()
		v.Set(m)
		caching := p.known.caching
		end, err := p.members(i, func(name []byte, i int) (int, error) {
			key.SetString(p.text.String(name))
			value.SetZero()
			end, err := element.decode(p, i, value)
			if err != nil {
				return end, err
			}
			m.SetMapIndex(key, value) // if a key occurs twice, the second entry counts
			return end, nil
		})
		if copied {
			p.known.caching = caching
		}
		return end, err
	}
}

// decodeStringMap is mapDecoder for the most common maps: labels, annotations,
// selectors.
func decodeStringMap(p *parser, i int, v reflect.Value) (int, error) {
	if p.at(i) == 'n' {
		return p.null(i)
	}
	if p.at(i) != '{' {
		return i, errElsewhere
	}
	m := make(map[string]string, min(p.nodes[0].members, maxHint))
	*v.Addr().Interface().(*map[string]string) = m
	return p.members(i, func(name []byte, i int) (int, error) {
		value, end, err := p.stringOrNull(i)
		m[p.text.String(name)] = value
		return end, err
	})
}
