package tree

import (
	"github.com/relist-go/relist/listwatch/internal/intern"
)

// Decoder decodes one object after the other, and remembers what repeats. The zero
// value is ready. It belongs to one goroutine at a time.
type Decoder struct {
	index  index
	shared intern.Cache[any]
	text   intern.Table
}

// Decode returns what object says, which must be one JSON object with nothing after
// it, but for white space. An error is a *jsontext.SyntacticError, or that of a number
// out of range.
//
// With share, equal subtrees of different objects are one in memory: none must be
// changed. The object itself and its metadata are always its own. Strings are shared
// in any case.
func (d *Decoder) Decode(object []byte, share bool) (map[string]any, error) {
	if err := d.index.build(object); err != nil {
		return nil, err
	}
	p := parser{b: object, nodes: d.index.nodes, text: &d.text}
	if share {
		p.shared = &d.shared
	}
	decoded, err := p.whole()
	d.index.shrink()
	return decoded, err
}
