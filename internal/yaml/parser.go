package yaml

import (
	"strings"
	"unicode/utf8"
)

// Parse reads the first document of a file. One that is empty is null.
func Parse(data []byte) (*Node, error) {
	src := strings.TrimPrefix(string(data), "\ufeff")
	p := &parser{src: strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(src)}
	if err := p.check(); err != nil {
		return nil, err
	}
	if err := p.prologue(); err != nil {
		return nil, err
	}
	n, err := p.block(-1, atStart)
	if err != nil {
		return nil, err
	}
	if p.blank(); !p.ended() {
		return nil, p.errorf("did not find the end of the document")
	}
	return n, nil
}

// parser goes over a file once. Indentation is the column of a collection: what belongs
// to it stands further to the right.
type parser struct {
	src     string
	i       int
	depth   int
	anchors map[string]*Node // nil while what is anchored is being read
}

// check refuses what cannot be in a file of text.
func (p *parser) check() error {
	for i, r := range p.src {
		if p.i = i; r < ' ' && r != '\t' && r != '\n' || r == 0x7f {
			return p.errorf("control characters are not allowed")
		} else if r == utf8.RuneError && !strings.HasPrefix(p.src[i:], string(utf8.RuneError)) {
			return p.errorf("found bytes that are not UTF-8")
		}
	}
	p.i = 0
	return nil
}

// prologue goes over directives and the beginning of the document.
func (p *parser) prologue() error {
	directives := false
	for p.blank(); p.here() == '%' && p.column() == 0; p.blank() {
		words := strings.Fields(p.rest())
		if directives || words[0] != "%YAML" || len(words) != 2 || words[1] != "1.1" && words[1] != "1.2" {
			return p.errorf("found unknown directive")
		}
		directives = true
		p.i += len(p.rest())
	}
	switch {
	case p.marker("---"):
		p.i += len("---")
	case directives, p.marker("..."):
		return p.errorf("did not find expected <document start>")
	}
	return nil
}

// here returns the byte at which the parser is, a line feed at the end.
func (p *parser) here() byte { return p.ahead(0) }

func (p *parser) ahead(n int) byte {
	if p.i+n >= len(p.src) {
		return '\n'
	}
	return p.src[p.i+n]
}

// indicator reports whether c stands here by itself.
func (p *parser) indicator(c byte) bool { return p.here() == c && isBlank(p.ahead(1)) }

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// rest returns what is left of the line.
func (p *parser) rest() string {
	text, _, _ := strings.Cut(p.src[p.i:], "\n")
	return text
}

func (p *parser) line() int { return 1 + strings.Count(p.src[:min(p.i, len(p.src))], "\n") }

func (p *parser) column() int { return p.i - 1 - strings.LastIndexByte(p.src[:p.i], '\n') }

// blank goes over white space and comments, and reports whether that ended a line.
func (p *parser) blank() (newline bool) {
	for p.i < len(p.src) {
		switch c := p.here(); {
		case c == '\n':
			newline = true
		case c == '#' && (p.i == 0 || isBlank(p.src[p.i-1])):
			p.i += len(p.rest()) - 1
		case c != ' ' && c != '\t':
			return newline
		}
		p.i++
	}
	return newline
}

// ended reports whether the document ends here.
func (p *parser) ended() bool {
	return p.i >= len(p.src) || p.marker("---") || p.marker("...")
}

func (p *parser) marker(m string) bool {
	rest := p.rest()
	return p.column() == 0 && strings.HasPrefix(rest, m) && (len(rest) == len(m) || isBlank(rest[len(m)]))
}

// enter and leave bound the depth.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return p.errorf("it is nested too deep")
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

// properties are an anchor and a tag.
type properties struct{ anchor, tag string }

// properties reads those that stand here, and the white space behind them.
func (p *parser) properties() (props properties, newline bool, err error) {
	for !newline {
		switch {
		case p.here() == '&' && props.anchor == "":
			if props.anchor, err = p.name(); err != nil {
				return props, false, err
			}
			p.anchor(props.anchor, nil)
		case p.here() == '!' && props.tag == "":
			start := p.i
			for !isBlank(p.here()) {
				p.i++
			}
			if props.tag = p.src[start:p.i]; strings.ContainsAny(props.tag, ",[]{}") {
				return props, false, p.errorf("did not find expected whitespace after a tag")
			}
		default:
			return props, false, nil
		}
		newline = p.blank()
	}
	return props, newline, nil
}

// name reads that of an anchor or an alias, and the character before it.
func (p *parser) name() (string, error) {
	start := p.i + 1
	for p.i++; !isBlank(p.here()) && !isFlow(p.here()); p.i++ {
		if c := p.here(); c != '-' && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return "", p.at(errQuotes)
		}
	}
	if p.i == start {
		return "", p.at(errQuotes)
	}
	return p.src[start:p.i], nil
}

func (p *parser) anchor(name string, n *Node) {
	if p.anchors == nil {
		p.anchors = map[string]*Node{}
	}
	p.anchors[name] = n
}

// finish gives a value its properties.
func (p *parser) finish(n *Node, props properties, err error) (*Node, error) {
	if err != nil {
		return nil, err
	}
	if n, err = n.tagged(props.tag); err != nil {
		return nil, p.at(err)
	}
	if props.anchor != "" {
		p.anchor(props.anchor, n)
	}
	return n, nil
}

// alias reads one, and returns what it stands for.
func (p *parser) alias() (*Node, error) {
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	if n := p.anchors[name]; n != nil {
		return n, nil
	}
	return nil, p.at(errQuotes)
}
