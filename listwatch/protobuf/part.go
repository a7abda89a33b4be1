package protobuf

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/internal/intern"
	"github.com/relist-go/relist/listwatch/internal/prototree"
)

var errUnusual = errors.New("the message is not written as servers write it")

// Parts returns a function that decodes some fields of a message, which is without its envelope,
// into *into. typ is a struct without a name that has some fields of the message's type, with their
// tags; structs in it may be such parts, too. If share is true, different results share equal parts
// in memory.
func Parts(typ reflect.Type, share bool) (func(message []byte, into any) error, error) {
	if _, ok := prototree.NewPart(typ, share); !ok {
		return nil, fmt.Errorf("%v has a field without a protobuf tag, or of a type that protobuf does not have", typ)
	}
	newDecoder := func(share bool) *prototree.Decoder {
		decoder, _ := prototree.NewPart(typ, share) // it is ok once for all
		return decoder
	}
	decoders := intern.Pool[prototree.Decoder]{New: func() *prototree.Decoder { return newDecoder(share) }}
	return func(message []byte, into any) error {
		decoder := decoders.Get()
		ok := decoder.Part(message, into)
		decoders.Put(decoder)
		if ok {
			return nil
		}
		// Fields that come twice or out of order can be decoded, but not be shared.
		reflect.ValueOf(into).Elem().SetZero()
		if !newDecoder(false).Part(message, into) {
			return errUnusual
		}
		return nil
	}, nil
}

// Messages returns a function that calls unmarshal with the message of an object, without its
// envelope and the members at paths, which are paths of typ.
func Messages(typ reflect.Type, paths [][]string, unmarshal func(message []byte, into any) error) (func(object []byte, into any) error, error) {
	inside := func(object []byte, into any) error {
		e, err := openEnvelope(object)
		if err != nil {
			return err
		}
		return unmarshal(e.raw, into)
	}
	if len(paths) == 0 {
		return inside, nil
	}
	drop, err := newDrop(typ, paths)
	if err != nil {
		return nil, err
	}
	return format.Without(drop.object, inside), nil
}
