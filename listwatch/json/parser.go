package json

import (
	"fmt"
	"slices"

	"github.com/relist-go/relist/listwatch/internal/intern"
)

// maxHint bounds the initial size of a map or slice.
const maxHint = 1024

// parser is the second pass. It reads strictly from left to right, so it takes the
// nodes of the index in their order.
type parser struct {
	b      []byte
	nodes  []node // those whose brackets are still to come
	text   *intern.Table
	shared *intern.Cache[any]
	known  *known // nil unless structs are decoded

	sharing bool // different objects share equal parts, at the present position
	depth   int  // of the present part, counted in parts that are looked up
}

// only reads an object, and returns an error if anything follows it.
func (p *parser) only() (map[string]any, error) {
	i := p.space(0)
	if p.at(i) != '{' {
		return nil, errNoJSONObject
	}
	object, end, err := p.object(i, p.next(), whole)
	if err != nil {
		return nil, err
	}
	if end = p.space(end); end < len(p.b) {
		return nil, syntaxError(end, "more follows the object")
	}
	return object, nil
}

// at returns b[i]. After the end it returns 0, which JSON does not contain.
func (p *parser) at(i int) byte {
	if i < len(p.b) {
		return p.b[i]
	}
	return 0
}

func (p *parser) space(i int) int {
	for i < len(p.b) && (p.b[i] == ' ' || p.b[i] == '\t' || p.b[i] == '\r' || p.b[i] == '\n') {
		i++
	}
	return i
}

// next takes the next node, whose bracket the parser has reached.
func (p *parser) next() node {
	n := p.nodes[0]
	p.nodes = p.nodes[1:]
	return n
}

// value reads the value at b[i], and returns the position after it.
func (p *parser) value(i int) (any, int, error) {
	switch c := p.at(i); {
	case c == '"':
		return p.string(i)
	case c == '{', c == '[':
		return p.subtree(i)
	case c == '-', '0' <= c && c <= '9':
		return p.number(i)
	case c == 't':
		return p.word(i, "true", true)
	case c == 'f':
		return p.word(i, "false", false)
	case c == 'n':
		return p.word(i, "null", nil)
	}
	return nil, i, p.unexpected(i, "a value")
}

// subtree reads an object or array. If it may be shared and an earlier object had an
// equal one, subtree returns that one.
func (p *parser) subtree(i int) (any, int, error) {
	n := p.next()
	text := p.b[i:n.end]
	sharing := p.sharing && p.depth < maxShared
	if sharing {
		if known, ok := p.shared.Get(text); ok {
			p.nodes = p.nodes[n.within:]
			return known, n.end, nil
		}
	}
	var (
		v   any
		end int
		err error
	)
	p.depth++
	if p.b[i] == '{' {
		v, end, err = p.object(i, n, inside)
	} else {
		v, end, err = p.array(i, n)
	}
	p.depth--
	if err == nil && sharing {
		p.shared.Put(text, v)
	}
	return v, end, err
}

// role says which of an object's JSON objects is read.
type role uint8

const (
	whole    role = iota // the object itself
	metadata             // the object's member metadata
	inside               // any other
)

// object reads a JSON object. Metadata is not shared, because the object's owner may
// want to write to it. The values under managedFields are always shared, because
// programs replace managedFields as a whole.
func (p *parser) object(i int, n node, as role) (map[string]any, int, error) {
	m := make(map[string]any, min(n.members, maxHint))
	i = p.space(i + 1)
	if p.at(i) == '}' {
		return m, i + 1, nil
	}
	for {
		if p.at(i) != '"' {
			return nil, i, p.unexpected(i, "a name")
		}
		name, end, err := p.name(i)
		if err != nil {
			return nil, end, err
		}
		if i = p.space(end); p.at(i) != ':' {
			return nil, i, p.unexpected(i, "':'")
		}
		i = p.space(i + 1)
		switch {
		case as == whole && name == "metadata" && p.at(i) == '{':
			m[name], i, err = p.object(i, p.next(), metadata)
		case as == metadata && name == "managedFields":
			sharing := p.sharing
			p.sharing = true
			m[name], i, err = p.value(i)
			p.sharing = sharing
		default:
			m[name], i, err = p.value(i)
		}
		if err != nil {
			return nil, i, err
		}
		switch i = p.space(i); p.at(i) {
		case ',':
			i = p.space(i + 1)
		case '}':
			return m, i + 1, nil
		default:
			return nil, i, p.unexpected(i, "',' or '}'")
		}
	}
}

func (p *parser) array(i int, n node) ([]any, int, error) {
	list := make([]any, 0, min(n.members, maxHint))
	i = p.space(i + 1)
	if p.at(i) == ']' {
		return list, i + 1, nil
	}
	for {
		v, end, err := p.value(i)
		if err != nil {
			return nil, end, err
		}
		list = append(list, v)
		switch i = p.space(end); p.at(i) {
		case ',':
			i = p.space(i + 1)
		case ']':
			return slices.Clip(list), i + 1, nil
		default:
			return nil, i, p.unexpected(i, "',' or ']'")
		}
	}
}

func (p *parser) word(i int, word string, v any) (any, int, error) {
	end := i + len(word)
	if end > len(p.b) || string(p.b[i:end]) != word {
		return nil, i, p.unexpected(i, word)
	}
	return v, end, nil
}

func (p *parser) unexpected(i int, want string) error {
	if i >= len(p.b) {
		return syntaxError(i, want+" is missing")
	}
	return syntaxError(i, fmt.Sprintf("%q where %s should be", p.b[i], want))
}
