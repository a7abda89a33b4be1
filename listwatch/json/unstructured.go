package json

import (
	"github.com/relist-go/relist/listwatch/internal/intern"
)

// treeDecoder decodes objects, and remembers values that repeat. The zero value is ready.
// One goroutine at a time may use it.
type treeDecoder struct {
	share  bool // different objects share equal subtrees, and nobody may change them
	index  index
	shared intern.Cache[any]
	text   intern.Table
}

// Decode returns the members of object, which must be one JSON object; only white
// space may follow it. The error is a *jsontext.SyntacticError, or that of a number
// out of range.
//
// The object's own map and its metadata are never shared. Strings, and the values under
// metadata.managedFields, are shared in any case.
func (d *treeDecoder) Decode(object []byte) (map[string]any, error) {
	if err := d.index.build(object); err != nil {
		return nil, err
	}
	p := parser{b: object, nodes: d.index.nodes, text: &d.text, shared: &d.shared, sharing: d.share}
	decoded, err := p.only()
	d.index.shrink()
	return decoded, err
}
