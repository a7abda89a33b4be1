package json

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/relist-go/relist/listwatch/internal/wire"
)

// maxDepth is how deep an object may be nested. json/v2 and apimachinery have the same limit.
const maxDepth = 10000

var errDepth = fmt.Errorf("nested deeper than %d", maxDepth)

// node is what the first pass notes about an object or array.
type node struct {
	end     int // the position after its closing bracket
	members int // an upper bound; exact if the JSON is valid
	within  int // the number of nodes inside it; they come next in the index
}

// index holds the nodes of a JSON text, in the order of their opening brackets.
type index struct {
	nodes []node
	open  []int // the nodes that are open, outermost first
}

// Classes of bytes outside of strings, for the nodes.
const (
	nodeOther = iota
	nodeQuote
	nodeComma
	nodeOpen
	nodeClose
)

var nodeClasses = [256]uint8{
	'"': nodeQuote, ',': nodeComma,
	'{': nodeOpen, '[': nodeOpen,
	'}': nodeClose, ']': nodeClose,
}

// build notes the nodes of b. It returns an error if brackets do not match or are
// nested too deeply. The second pass finds all other errors.
func (x *index) build(b []byte) error {
	x.nodes, x.open = x.nodes[:0], x.open[:0]
	for i := 0; i < len(b); i++ {
		switch nodeClasses[b[i]] {
		case nodeQuote:
			end, _, ok := wire.StringEnd(b, i+1)
			if !ok {
				return syntaxError(len(b), "the end of a string is missing")
			}
			i = end - 1
		case nodeComma:
			if len(x.open) > 0 {
				x.nodes[x.open[len(x.open)-1]].members++
			}
		case nodeOpen:
			if len(x.open) == maxDepth {
				return &jsontext.SyntacticError{ByteOffset: int64(i), Err: errDepth}
			}
			x.open = append(x.open, len(x.nodes))
			x.nodes = append(x.nodes, node{end: i})
		case nodeClose:
			if len(x.open) == 0 {
				return syntaxError(i, "a bracket closes what was not opened")
			}
			n := &x.nodes[x.open[len(x.open)-1]]
			if opener := b[n.end]; opener != b[i]-2 { // '{' and '}', as '[' and ']', are two apart
				return syntaxError(i, fmt.Sprintf("%q closes what %q opened", b[i], opener))
			}
			if n.members > 0 || !empty(b[n.end+1:i]) {
				n.members++
			}
			n.within = len(x.nodes) - 1 - x.open[len(x.open)-1]
			n.end = i + 1
			x.open = x.open[:len(x.open)-1]
		}
	}
	if len(x.open) > 0 {
		return syntaxError(len(b), "a closing bracket is missing")
	}
	return nil
}

// keepNodes is the largest index whose memory is kept for the next object.
const keepNodes = 2048

// shrink releases the memory that a large object needed.
func (x *index) shrink() {
	if cap(x.nodes) > keepNodes {
		*x = index{}
	}
}

// empty reports whether there is only white space in b.
func empty(b []byte) bool {
	for _, c := range b {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}

func syntaxError(at int, reason string) error {
	return &jsontext.SyntacticError{ByteOffset: int64(at), Err: errors.New(reason)}
}
