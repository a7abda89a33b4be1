package cbor

import (
	"fmt"

	"github.com/relist-go/relist/internal/cborwire"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/transport"
)

// SplitEvent implements [listwatch.Encoding]. There is nothing to guess: it is cheap.
func (encoding) SplitEvent(frame transport.Frame, _ bool) (word string, object []byte, err error) {
	word, object, err = split(frame.Data)
	if err != nil {
		return "", nil, fmt.Errorf("%w: frame is not a watch event: %w", listwatch.ErrMalformed, err)
	}
	if word == "" || len(object) == 0 {
		return "", nil, fmt.Errorf("%w: a watch event needs a type and an object", listwatch.ErrMalformed)
	}
	return word, object, nil
}

// SplitHead implements [listwatch.Encoding].
func (encoding) SplitHead(head []byte) (typ listwatch.Type, object []byte, ok bool) {
	word, object, _ := split(head) // it was cut off, so that an error is no news
	for typ := listwatch.Added; typ <= listwatch.Deleted; typ++ {
		if typ.String() == word {
			return typ, object, len(object) > 0
		}
	}
	return 0, nil, false
}

// split returns the parts of an event; with an error, as far as they came.
func split(event []byte) (word string, object []byte, err error) {
	pairs, ok := cborwire.OpenMap(event)
	if !ok {
		return "", nil, errNoObject
	}
	for ok {
		var key string
		var value []byte
		key, value, ok, err = pairs.Next()
		switch key {
		case "type":
			word = cborwire.String(value)
		case "object":
			object = value
		}
	}
	return word, object, err
}
