package listwatch

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind implements [Encoding].
func (jsonEncoding) Kind(object []byte, item bool) []byte { return peekKind(object, item) }

// peekKind returns the kind of an object, nil if it names none. It looks no further
// than it must: API servers write the kind first, or after the apiVersion, and it comes
// without the cost of parsing. For other spellings of an event's object the members are
// gone through; an item of a list that begins otherwise has no kind, as a rule, and is
// looked at no further.
func peekKind(object []byte, item bool) []byte {
	rest, ok := bytes.CutPrefix(object, []byte(`{"`))
	if ok {
		if version, found := bytes.CutPrefix(rest, []byte(`apiVersion":"`)); found {
			_, rest, _ = bytes.Cut(version, []byte(`","`))
		}
		if value, found := bytes.CutPrefix(rest, []byte(`kind":"`)); found {
			if kind, _, closed := bytes.Cut(value, []byte(`"`)); closed && !bytes.Contains(kind, []byte(`\`)) {
				return kind
			}
		}
		if item && bytes.HasPrefix(rest, []byte(`metadata"`)) {
			return nil
		}
	}
	return walkToKind(object)
}

// walkToKind is peekKind for any spelling.
func walkToKind(object []byte) (kind []byte) {
	dec := jsontext.NewDecoder(bytes.NewReader(object), lenient)
	if dec.PeekKind() != '{' {
		return nil
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil
		}
		if name.String() != "kind" || dec.PeekKind() != '"' {
			if dec.SkipValue() != nil {
				return nil
			}
			continue
		}
		value, err := dec.ReadToken()
		if err != nil {
			return nil
		}
		return []byte(value.String())
	}
	return nil
}
