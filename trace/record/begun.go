package record

import (
	"bytes"
	"regexp"

	"github.com/go-json-experiment/json/jsontext"
)

// What came of something that broke off. It is raw in a trace, and the names in it
// cannot be told from the rest where it ends anywhere: so it is made to end
// earlier, where they can.

// eventStart is how every API server begins an event.
var eventStart = regexp.MustCompile(`^\{"type":"[A-Z]+","object":\{`)

// begunEvent is an event that lacks its end.
func (r *reducer) begunEvent(data []byte) said {
	if start := eventStart.Find(data); start != nil && !r.full {
		data = start
	}
	return &raw{data: bytes.Clone(data)}
}

// begunList is a list that lacks its end: what stands above its objects, and those
// of them that are whole.
func (r *reducer) begunList(data []byte) said {
	if r.full {
		return &raw{data: data}
	}
	dec := jsontext.NewDecoder(bytes.NewReader(data), lenient)
	if dec.PeekKind() != '{' {
		return &raw{data: data}
	}
	_, _ = dec.ReadToken()
	b := &begunList{of: r}
	for {
		name, err := dec.ReadToken()
		if err != nil || name.Kind() != '"' {
			return b
		}
		switch key := name.String(); {
		case key == "items" && dec.PeekKind() == '[':
			_, _ = dec.ReadToken()
			for {
				v, err := dec.ReadValue()
				if err != nil {
					return b
				}
				if o, ok := r.object(v); ok {
					b.objects = append(b.objects, o)
				}
			}
		case dec.SkipValue() != nil:
			return b
		}
	}
}

// begunList is raw in a trace.
type begunList struct {
	of      *reducer
	objects []object
}

func (b *begunList) lines() []string {
	text := []byte(`{"kind":"` + b.of.kind + `List","apiVersion":"` + b.of.apiVersion + `","metadata":{},"items":[`)
	for _, o := range b.objects {
		text = append(append(text, b.of.encode(o)...), ',')
	}
	return (&raw{data: text}).lines()
}
