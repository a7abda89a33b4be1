package tree

import (
	"errors"
	"fmt"

	"github.com/relist-go/relist/listwatch/internal/intern"
)

// maxHint bounds the size that a map or slice is made in before anything is in it.
const maxHint = 1024

// parser is the second pass. It reads strictly from left to right, so that the nodes of
// the index come by in their order.
type parser struct {
	b      []byte
	nodes  []node // those that have not come by yet
	text   *intern.Table
	shared *intern.Cache[any] // nil: nothing is shared
	known  *known             // nil unless structs are decoded
}

// whole reads the object that is all there is.
func (p *parser) whole() (map[string]any, error) {
	i := p.space(0)
	if p.at(i) != '{' {
		return nil, errors.New("not a JSON object")
	}
	object, end, err := p.object(i, p.next(), true)
	if err != nil {
		return nil, err
	}
	if end = p.space(end); end < len(p.b) {
		return nil, syntaxError(end, "more follows the object")
	}
	return object, nil
}

// at returns b[i], and 0, which stands nowhere in JSON, after the end.
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

// next takes the node whose bracket has come.
func (p *parser) next() node {
	n := p.nodes[0]
	p.nodes = p.nodes[1:]
	return n
}

// value reads the value at b[i], and returns the place after it.
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

// subtree reads an object or array, unless it has been met before.
func (p *parser) subtree(i int) (any, int, error) {
	n := p.next()
	text := p.b[i:n.end]
	if p.shared != nil {
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
	if p.b[i] == '{' {
		v, end, err = p.object(i, n, false)
	} else {
		v, end, err = p.array(i, n)
	}
	if err == nil && p.shared != nil {
		p.shared.Put(text, v)
	}
	return v, end, err
}

// object reads an object. The metadata of a whole one is never shared: its owner may
// want to write into it.
func (p *parser) object(i int, n node, whole bool) (map[string]any, int, error) {
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
		if whole && name == "metadata" && p.at(i) == '{' {
			m[name], i, err = p.object(i, p.next(), false)
		} else {
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
			return list, i + 1, nil
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
