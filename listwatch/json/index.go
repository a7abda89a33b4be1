package json

import (
	"bytes"
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
	within  int // the number of nodes inside it, which come next; while it is open, the node around it
}

// index holds the nodes of a JSON text, in the order of their opening brackets.
type index struct{ nodes []node }

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
	nodes, open, depth := x.nodes[:0], -1, 0 // open is the innermost node that is open
	for i := 0; i < len(b); i++ {
		switch nodeClasses[b[i]] {
		case nodeQuote:
			end, _, ok := wire.StringEnd(b, i+1)
			if !ok {
				return syntaxError(len(b), "the end of a string is missing")
			}
			i = end - 1
		case nodeComma:
			if depth > 0 {
				nodes[open].members++
			}
		case nodeOpen:
			if depth++; depth > maxDepth {
				return &jsontext.SyntacticError{ByteOffset: int64(i), Err: errDepth}
			}
			nodes = append(nodes, node{end: i, within: open})
			open = len(nodes) - 1
		case nodeClose:
			if depth--; depth < 0 {
				return syntaxError(i, "a bracket closes what was not opened")
			}
			n := &nodes[open]
			if opener := b[n.end]; opener != b[i]-2 { // '{' and '}', as '[' and ']', are two apart
				return syntaxError(i, fmt.Sprintf("%q closes what %q opened", b[i], opener))
			}
			if n.members > 0 || !empty(b[n.end+1:i]) {
				n.members++
			}
			n.end = i + 1
			n.within, open = len(nodes)-1-open, n.within
		}
	}
	if depth > 0 {
		return syntaxError(len(b), "a closing bracket is missing")
	}
	x.nodes = nodes
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
func empty(b []byte) bool { return len(bytes.TrimLeft(b, " \t\r\n")) == 0 }

func syntaxError(at int, reason string) error {
	return &jsontext.SyntacticError{ByteOffset: int64(at), Err: errors.New(reason)}
}
