package yaml

import (
	"strconv"
	"strings"
)

// scalar reads a scalar with or without quotes. One that goes over several lines has
// them at columns beyond parent, unless it is inside brackets.
func (p *parser) scalar(parent int, inFlow bool) (*Node, error) {
	switch c := p.here(); {
	case c == '"' || c == '\'':
		text, err := p.quoted(c)
		return &Node{text: text, size: 1}, err
	case strings.IndexByte("%@`", c) >= 0,
		strings.IndexByte("-?:", c) >= 0 && (isBlank(p.ahead(1)) || inFlow && isFlow(p.ahead(1))),
		strings.IndexByte(",[]{}#&*!|>", c) >= 0:
		return nil, p.errorf("found character that cannot start any token")
	}
	return &Node{text: p.plain(parent, inFlow), plain: true, size: 1}, nil
}

// plain reads a scalar without quotes. It ends at a colon or a comment that is set off,
// and inside brackets at one of them, or a comma.
func (p *parser) plain(parent int, inFlow bool) string {
	var text strings.Builder
	for {
		start := p.i
		for p.here() != '\n' && !p.endsPlain(inFlow) {
			p.i++
		}
		word := strings.TrimRight(p.src[start:p.i], " \t")
		text.WriteString(word)
		end := start + len(word)
		p.i += len(p.src[p.i:]) - len(strings.TrimLeft(p.src[p.i:], " \t"))
		if p.here() != '\n' {
			p.i = end
			return text.String()
		}
		folded := p.breaks()
		if p.ended() || p.here() == '#' || !inFlow && p.column() <= parent || p.endsPlain(inFlow) || inFlow && p.here() == ':' {
			p.i = end
			return text.String()
		}
		text.WriteString(folded)
	}
}

func (p *parser) endsPlain(inFlow bool) bool {
	switch c := p.here(); c {
	case ':':
		return isBlank(p.ahead(1))
	case '#':
		return p.i > 0 && isBlank(p.src[p.i-1])
	default:
		return inFlow && isFlow(c)
	}
}

// breaks goes over line feeds and the white space around them. What they are folded to
// is a space for one, and a line feed less for more.
func (p *parser) breaks() string {
	n := 0
	for p.i < len(p.src) && isBlank(p.here()) {
		if p.here() == '\n' {
			n++
		}
		p.i++
	}
	if n <= 1 {
		return " "
	}
	return strings.Repeat("\n", n-1)
}

// quoted reads a scalar in quotes.
func (p *parser) quoted(quote byte) (string, error) {
	var text strings.Builder
	for p.i++; p.i < len(p.src); {
		switch c := p.here(); {
		case c == quote && quote == '\'' && p.ahead(1) == '\'':
			text.WriteByte('\'')
			p.i += 2
		case c == quote:
			p.i++
			return text.String(), nil
		case c == '\\' && quote == '"':
			if err := p.escape(&text); err != nil {
				return "", err
			}
		case isBlank(c):
			start := p.i
			for p.i < len(p.src) && (p.here() == ' ' || p.here() == '\t') {
				p.i++
			}
			if p.here() == '\n' {
				text.WriteString(p.breaks())
				if p.ended() {
					return "", p.errorf("found unexpected end of the document in quotes")
				}
			} else {
				text.WriteString(p.src[start:p.i])
			}
		default:
			text.WriteByte(c)
			p.i++
		}
	}
	return "", p.errorf("found unexpected end of the document in quotes")
}

// escapes are the ones of a single character; x, u and U have digits.
const escapes, escaped = `0abt` + "\t" + `nvfre "\N_LP`, "\x00\a\b\t\t\n\v\f\r\x1b \"\\\u0085\u00a0\u2028\u2029"

// escape reads what follows a backslash. Before the end of a line it joins two lines.
func (p *parser) escape(text *strings.Builder) error {
	c := p.ahead(1)
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	switch i := strings.IndexByte(escapes, c); {
	case c == '\n':
		p.i++
		if folded := p.breaks(); folded != " " {
			text.WriteString(folded)
		}
		return nil
	case i >= 0:
		text.WriteRune([]rune(escaped)[i])
	case digits == 0:
		return p.errorf("found unknown escape character")
	default:
		code := p.src[min(p.i+2, len(p.src)):min(p.i+2+digits, len(p.src))]
		r, err := strconv.ParseUint(code, 16, 32)
		if err != nil || len(code) < digits || r > 0x10ffff || 0xd800 <= r && r < 0xe000 {
			return p.errorf("found invalid Unicode character escape code")
		}
		text.WriteRune(rune(r)) //nolint:gosec // it was just compared
	}
	p.i += 2 + digits
	return nil
}
