package yaml

import "strings"

// place is what stands before a value.
type place uint8

const (
	atStart place = iota // nothing
	afterKey
	afterDash
)

// block reads a value that belongs to a collection at the column parent: null, if what
// comes next does not.
func (p *parser) block(parent int, where place) (*Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	newline := p.blank()
	if p.beyond(parent, where, newline) {
		return null(), nil
	}
	column := p.column()
	props, below, err := p.properties()
	if err != nil {
		return nil, err
	}
	if below {
		newline = true
		if p.beyond(parent, where, true) {
			return p.finish(null(), props, nil)
		}
		column = p.column()
	} else if props != (properties{}) && p.indicator('-') {
		return nil, p.errorf("block sequence entries are not allowed in this context")
	}
	n, err := p.content(parent, column, newline || where != afterKey)
	return p.finish(n, props, err)
}

// beyond reports whether what stands here belongs to something further out. The dashes
// of a sequence may stand below the key that it is the value of.
func (p *parser) beyond(parent int, where place, newline bool) bool {
	if p.ended() {
		return true
	}
	if !newline || p.column() > parent {
		return false
	}
	return where != afterKey || p.column() < parent || !p.indicator('-')
}

// content reads a value without its properties. A collection may begin here if that is
// at the beginning of a line, or behind a dash.
func (p *parser) content(parent, column int, collection bool) (*Node, error) {
	switch c := p.here(); c {
	case '-':
		if p.indicator('-') {
			if !collection {
				return nil, p.errorf("block sequence entries are not allowed in this context")
			}
			return p.sequence(column)
		}
	case '|', '>':
		return p.blockScalar(parent)
	case '[', '{':
		n, err := p.flow()
		if err == nil && p.isKey() {
			err = p.at(errQuotes)
		}
		return n, err
	case '*':
		n, err := p.alias()
		if err == nil && p.isKey() {
			err = p.at(errQuotes)
		}
		return n, err
	}
	if err := p.indented(); err != nil {
		return nil, err
	}
	start := p.i
	n, err := p.scalar(parent, false)
	switch {
	case err != nil || !p.isKey():
		return n, err
	case !collection:
		return nil, p.errorf("mapping values are not allowed in this context")
	}
	p.i = start
	return p.mapping(column)
}

// isKey reports whether what was just read has a colon behind it.
func (p *parser) isKey() bool {
	before := p.i
	defer func() { p.i = before }()
	for p.here() == ' ' || p.here() == '\t' {
		p.i++
	}
	return p.indicator(':')
}

// indented refuses a tab where the column counts.
func (p *parser) indented() error {
	before := p.src[p.i-p.column() : p.i]
	if strings.Trim(before, " \t") == "" && strings.Contains(before, "\t") {
		return p.errorf("found character that cannot start any token: a tab")
	}
	return nil
}

// mapping reads one whose keys are at a column.
func (p *parser) mapping(column int) (*Node, error) {
	n := &Node{kind: mapping, size: 1}
	for {
		key, err := p.key()
		if err != nil {
			return nil, err
		}
		value, err := p.block(column, afterKey)
		if err != nil {
			return nil, err
		}
		n.pairs = append(n.pairs, pair{key, value})
		if err := p.add(n, value); err != nil {
			return nil, err
		}
		p.blank()
		switch at := p.column(); {
		case p.ended(), at < column:
			return n, p.merge(n)
		case at > column:
			return nil, p.errorf("did not find expected key")
		}
		if err := p.indented(); err != nil {
			return nil, err
		}
	}
}

// key reads a key, which is on one line, and the colon.
func (p *parser) key() (*Node, error) {
	if _, below, err := p.properties(); err != nil || below {
		return nil, p.at(errQuotes)
	}
	if p.indicator('-') {
		return nil, p.errorf("did not find expected key")
	}
	line := p.line()
	n, err := p.scalar(-1, false)
	if err != nil {
		return nil, err
	}
	if !p.isKey() || p.line() != line {
		return nil, p.errorf("could not find expected ':'")
	}
	for p.here() != ':' {
		p.i++
	}
	p.i++
	return n, p.checkKey(n)
}

// checkKey refuses a key that is no string, such as yes or 1.
func (p *parser) checkKey(n *Node) error {
	if n.is() != isString {
		return p.at(errQuotes)
	}
	return nil
}

// sequence reads one whose dashes are at a column.
func (p *parser) sequence(column int) (*Node, error) {
	n := &Node{kind: sequence, size: 1}
	for p.indicator('-') {
		p.i++
		item, err := p.block(column, afterDash)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
		if err := p.add(n, item); err != nil {
			return nil, err
		}
		p.blank()
		if p.ended() || p.column() < column {
			break
		}
		if p.column() > column {
			return nil, p.errorf("did not find expected '-' indicator")
		}
	}
	return n, nil
}
