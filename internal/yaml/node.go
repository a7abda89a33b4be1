package yaml

import (
	"errors"
	"fmt"
)

// Node is a value as it is written.
type Node struct {
	kind  kind
	text  string // of a scalar, without quotes and folded
	plain bool   // a scalar that may be something else than a string
	pairs []pair
	items []*Node
	size  int // of the tree, with what aliases stand for
}

type pair struct {
	key   *Node
	value *Node
}

type kind uint8

const (
	scalar kind = iota
	mapping
	sequence
)

const (
	// maxDepth bounds how deep values are nested.
	maxDepth = 1000

	// maxSize bounds how many values a tree has, each counted as often as an alias
	// stands for it: a few lines can stand for billions.
	maxSize = 1 << 20
)

// errQuotes is for what means something else than its writer thought, as a rule.
var errQuotes = errors.New("an alias (*), a tag (!) or a key that is not valid: put values with such characters in quotes")

// at says on which line an error is.
func (p *parser) at(err error) error {
	return fmt.Errorf("yaml: line %d: %w", p.line(), err)
}

func (p *parser) errorf(format string, args ...any) error {
	return p.at(fmt.Errorf(format, args...))
}

// add makes value a part of n.
func (p *parser) add(n, value *Node) error {
	if n.size += value.size; n.size > maxSize {
		return p.errorf("the aliases stand for too much")
	}
	return nil
}

// get returns the value of a key, the last if there are several; nil if there is none.
func (n *Node) get(key string) *Node {
	for i := len(n.pairs) - 1; i >= 0; i-- {
		if n.pairs[i].key.text == key {
			return n.pairs[i].value
		}
	}
	return nil
}

// merge does what a merge key says: the members of the mappings that it names are added,
// but for those that n has itself. https://yaml.org/type/merge.html
func (p *parser) merge(n *Node) error {
	own := n.pairs
	n.pairs = nil
	var merged []*Node
	for _, m := range own {
		switch {
		case !m.key.plain || m.key.text != "<<":
			n.pairs = append(n.pairs, m)
		case m.value.kind == mapping:
			merged = append(merged, m.value)
		case m.value.kind == sequence:
			merged = append(merged, m.value.items...)
		default:
			return p.at(errQuotes)
		}
	}
	for _, from := range merged {
		if from.kind != mapping {
			return p.at(errQuotes)
		}
		for _, m := range from.pairs {
			if n.get(m.key.text) == nil {
				n.pairs = append(n.pairs, m)
			}
		}
	}
	return nil
}
