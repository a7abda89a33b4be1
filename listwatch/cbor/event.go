package cbor

import (
	"errors"
	"fmt"

	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/json"
)

var errNoEvent = errors.New("a watch event needs a type and an object")

// SplitEvent implements [format.Format]. It never guesses, because reading an event
// exactly is cheap.
func (Format) SplitEvent(event []byte, _ bool) (word string, object []byte, err error) {
	word, object, err = split(event)
	switch {
	case err != nil:
		err = fmt.Errorf("frame is not a watch event: %w", err)
	case word == "" || len(object) == 0:
		err = errNoEvent
	}
	return word, object, err
}

// split returns the parts of an event. With an error, it returns the parts before the
// error.
func split(event []byte) (word string, object []byte, err error) {
	pairs, ok := openPairs(event)
	if !ok {
		return "", nil, errNoObject
	}
	for ok {
		var key, value []byte
		key, value, ok, err = pairs.next()
		switch string(key) {
		case "type":
			word = string(textOf(value))
		case "object":
			object = value
		}
	}
	return word, object, err
}

// Kind implements [format.Format]. Servers sort members by the length of their names,
// so the kind is among the first.
func (Format) Kind(object []byte, _ bool) []byte {
	pairs, ok := openPairs(object)
	for ok {
		var key, value []byte
		if key, value, ok, _ = pairs.next(); ok && string(key) == "kind" {
			return textOf(value)
		}
	}
	return nil
}

// Identify implements [format.Format].
func (Format) Identify(object []byte) (id format.Identity) {
	pairs, ok := openPairs(object)
	for ok {
		var key, value []byte
		key, value, ok, _ = pairs.next() // if the object is cut off, value is the part that is there
		if string(key) != "metadata" {
			continue
		}
		for meta, ok := openPairs(value); ok; {
			var key, value []byte
			key, value, ok, _ = meta.next()
			switch string(key) {
			case "namespace":
				id.Namespace = textOf(value)
			case "name":
				id.Name = textOf(value)
			case "uid":
				id.UID = textOf(value)
			case "resourceVersion":
				id.ResourceVersion = textOf(value)
			}
		}
		return id
	}
	return id
}

// Bookmark implements [format.Format].
func (Format) Bookmark(object []byte) (resourceVersion string, initialEventsEnd bool, err error) {
	text, err := toJSON(object)
	if err != nil {
		return "", false, err
	}
	return json.Format{}.Bookmark(text)
}
