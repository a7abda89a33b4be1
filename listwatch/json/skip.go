package json

import (
	"github.com/relist-go/relist/listwatch/internal/wire"
)

// skip checks that the value at b[i] is JSON, and returns the position after it.
func (p *parser) skip(i int) (int, error) {
	switch c := p.at(i); {
	case c == '"':
		return p.skipString(i)
	case c == '{':
		return p.skipObject(i)
	case c == '[':
		return p.skipArray(i)
	case c == '-', '0' <= c && c <= '9':
		end, _ := numberEnd(p.b, i)
		if end < 0 {
			return i, errElsewhere
		}
		return end, nil
	case c == 't':
		_, end, err := p.word(i, "true", nil)
		return end, err
	case c == 'f':
		_, end, err := p.word(i, "false", nil)
		return end, err
	}
	return p.null(i)
}

// skipString checks a string. Package json checks a string that is not plain.
func (p *parser) skipString(i int) (int, error) {
	if end := plainEnd(p.b, i+1); end >= 0 {
		return end + 1, nil
	}
	end, _, ok := wire.StringEnd(p.b, i+1)
	if !ok || !isString(p.b[i:end]) {
		return i, errElsewhere
	}
	return end, nil
}

func (p *parser) skipObject(i int) (int, error) {
	p.next()
	if i = p.space(i + 1); p.at(i) == '}' {
		return i + 1, nil
	}
	for {
		if p.at(i) != '"' {
			return i, errElsewhere
		}
		end, err := p.skipString(i)
		if err != nil {
			return end, err
		}
		if i = p.space(end); p.at(i) != ':' {
			return i, errElsewhere
		}
		if i, err = p.skip(p.space(i + 1)); err != nil {
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

func (p *parser) skipArray(i int) (int, error) {
	p.next()
	if i = p.space(i + 1); p.at(i) == ']' {
		return i + 1, nil
	}
	for {
		var err error
		if i, err = p.skip(i); err != nil {
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
