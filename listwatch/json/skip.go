package json

import (
	"bytes"

	"github.com/relist-go/relist/listwatch/internal/wire"
)

// skip checks that the value at b[i] is JSON, and returns the position after it.
func (p *parser) skip(i int) int {
	switch c := p.at(i); {
	case c == '"':
		return p.skipString(i)
	case c == '{':
		return p.skipObject(i)
	case c == '[':
		return p.skipArray(i)
	case c == '-', '0' <= c && c <= '9':
		end, _ := numberEnd(p.b, i)
		return end
	case c == 't':
		return p.exactly(i, "true")
	case c == 'f':
		return p.exactly(i, "false")
	}
	return p.null(i)
}

// skipString checks a string. Package json checks a string that is not plain.
func (p *parser) skipString(i int) int {
	plain := plainEnd(p.b, i+1)
	for plain < 0 && bytes.HasPrefix(p.b[^plain:], []byte(`\"`)) { // as in the names of managedFields
		plain = plainEnd(p.b, ^plain+2)
	}
	if plain >= 0 {
		return plain + 1
	}
	end, _, ok := wire.StringEnd(p.b, i+1)
	if !ok || !isString(p.b[i:end]) {
		return elsewhere
	}
	return end
}

func (p *parser) skipObject(i int) int {
	p.next()
	if i = p.space(i + 1); p.at(i) == '}' {
		return i + 1
	}
	for {
		if p.at(i) != '"' {
			return elsewhere
		}
		if i = p.skipString(i); i < 0 {
			return elsewhere
		}
		if i = p.space(i); p.at(i) != ':' {
			return elsewhere
		}
		if i = p.skip(p.space(i + 1)); i < 0 {
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

func (p *parser) skipArray(i int) int {
	p.next()
	if i = p.space(i + 1); p.at(i) == ']' {
		return i + 1
	}
	for {
		if i = p.skip(i); i < 0 {
			return elsewhere
		}
		switch i = p.space(i); p.at(i) {
		case ',':
			i = p.space(i + 1)
		case ']':
			return i + 1
		default:
			return elsewhere
		}
	}
}
