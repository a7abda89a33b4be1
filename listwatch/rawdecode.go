package listwatch

import (
	"bytes"
	"errors"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/internal/wire"
	"github.com/relist-go/relist/listwatch/json"
	"github.com/relist-go/relist/listwatch/protobuf"
)

func isRaw(typ reflect.Type) bool { return typ == reflect.TypeFor[*Raw]() }

// rawItem is what an Encoding decodes into if objects become Raw.
type rawItem struct {
	kind schema.GroupVersionKind // for an object that names none
	raw  *Raw
}

// rawUnmarshaler returns a function that decodes an object into a *rawItem. JSON is not decoded:
// its bytes are checked and copied, once.
func rawUnmarshaler(encoding Encoding, opts format.Options) (func(object []byte, into any) error, error) {
	switch encoding.(type) {
	case json.Format:
		return wire.Without(opts.Drop, rawJSON)
	case protobuf.Format:
		if len(opts.Drop) > 0 {
			return nil, errors.New("a message has numbers for its fields and no names, so nothing can be dropped from a Raw; use JSON")
		}
	}
	unmarshal, err := encoding.Unmarshaler(reflect.TypeFor[*Raw](), opts)
	if err != nil {
		return nil, err
	}
	return func(object []byte, into any) error {
		item := into.(*rawItem)
		if err := unmarshal(object, &item.raw); err != nil || item.raw == nil {
			return err
		}
		item.raw.putKindFirst(item.kind)
		return nil
	}, nil
}

func rawJSON(object []byte, into any) error {
	item, raw := into.(*rawItem), &Raw{}
	if err := raw.parse(object, item.kind); err != nil {
		return err
	}
	item.raw = raw
	return nil
}

// putKindFirst makes the kind and the apiVersion the first members. It is for JSON that an Encoding
// has made, with its members in another order in lists than in events: there, the kind that only
// events have is in the middle. kind is for an object that names none.
func (r *Raw) putKindFirst(kind schema.GroupVersionKind) {
	if !r.IsJSON() {
		return
	}
	var word, version []byte
	var others [][]byte
	for m := wire.MembersOf(r.data); m.Next(); {
		switch string(m.Name) {
		case "kind":
			word = m.Value
		case "apiVersion":
			version = m.Value
		default:
			others = append(others, r.data[m.Start:m.End])
		}
	}
	if word == nil && version == nil && kind.Empty() {
		return
	}
	data := make([]byte, 0, len(r.data)+96) // room for most kinds
	if word == nil && version == nil {
		data = appendKind(data, kind)
	} else {
		data = append(data, '{')
		if word != nil {
			data = append(append(append(data, `"kind":`...), word...), ',')
		}
		if version != nil {
			data = append(append(append(data, `"apiVersion":`...), version...), ',')
		}
		data = data[:len(data)-1]
	}
	for _, member := range others {
		data = append(append(data, ','), member...)
	}
	r.data = bytes.Clone(append(data, '}'))
}
