package yaml

func isFlow(c byte) bool { return c == ',' || c == '[' || c == ']' || c == '{' || c == '}' }

// flow reads a value inside brackets, or the brackets.
func (p *parser) flow() (*Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	props, _, err := p.properties()
	if err != nil {
		return nil, err
	}
	var n *Node
	switch c := p.here(); {
	case p.ended():
		return nil, p.errorf("did not find expected node content")
	case c == '[':
		n, err = p.flowSequence()
	case c == '{':
		n, err = p.flowMapping()
	case c == '*':
		n, err = p.alias()
	case c == ',' || c == ']' || c == '}':
		if props == (properties{}) {
			return nil, p.errorf("did not find expected node content")
		}
		n = null()
	default:
		n, err = p.scalar(-1, true)
	}
	return p.finish(n, props, err)
}

func (p *parser) flowSequence() (*Node, error) {
	n := &Node{kind: sequence, size: 1}
	for p.i++; ; {
		if p.blank(); p.here() == ']' {
			p.i++
			return n, nil
		}
		item, err := p.flow()
		if err != nil {
			return nil, err
		}
		if p.blank(); p.here() == ':' { // a mapping of one pair, without its braces
			one := &Node{kind: mapping, size: 1}
			if err := p.flowPair(one, item); err != nil {
				return nil, err
			}
			item = one
		}
		n.items = append(n.items, item)
		if err := p.add(n, item); err != nil {
			return nil, err
		}
		if err := p.separator(']'); err != nil {
			return nil, err
		}
	}
}

func (p *parser) flowMapping() (*Node, error) {
	n := &Node{kind: mapping, size: 1}
	for p.i++; ; {
		if p.blank(); p.here() == '}' {
			p.i++
			return n, p.merge(n)
		}
		key, err := p.flow()
		if err != nil {
			return nil, err
		}
		p.blank()
		if err := p.flowPair(n, key); err != nil {
			return nil, err
		}
		if err := p.separator('}'); err != nil {
			return nil, err
		}
	}
}

// flowPair reads the value of a key, if it has one.
func (p *parser) flowPair(n, key *Node) error {
	if err := p.checkKey(key); err != nil {
		return err
	}
	value := null()
	if p.here() == ':' {
		p.i++
		if p.blank(); p.here() != ',' && p.here() != '}' && p.here() != ']' {
			var err error
			if value, err = p.flow(); err != nil {
				return err
			}
		}
	}
	n.pairs = append(n.pairs, pair{key, value})
	return p.add(n, value)
}

// separator reads a comma, and leaves the closing bracket.
func (p *parser) separator(closing byte) error {
	p.blank()
	switch {
	case p.here() == ',' && !p.ended():
		p.i++
	case p.here() != closing || p.ended():
		return p.errorf("did not find expected ',' or '%c'", closing)
	}
	return nil
}
