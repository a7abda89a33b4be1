package json

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/internal/wire"
)

// Every API server writes the envelope of an event this way.
const (
	envelopeStart  = `{"type":"`
	envelopeMiddle = `","object":`
)

// SplitEvent implements [format.Format]. Unless careful is true, it splits
// {"type":"ADDED","object":{...}} without parsing: the brackets of a frame are known to
// match, so the object's decoder is the first to parse the object. SplitEvent parses
// events that are written in another way, and events of other types.
func (Format) SplitEvent(event []byte, careful bool) (word string, object []byte, err error) {
	if !careful {
		if inside, ok := bytes.CutSuffix(bytes.TrimSpace(event), []byte("}")); ok {
			if word, object, ok := cutWord(inside); ok {
				return word, object, nil
			}
		}
	}
	if word, object, err = parseEnvelope(event); err != nil {
		word, object, _ = cutWord(event) // the error counts; these are the parts that can be read
	}
	return word, object, err
}

// cutWord returns the word for the type of an event, and the bytes of the object, which
// begin after the envelope's middle.
func cutWord(event []byte) (word string, object []byte, ok bool) {
	rest, ok := bytes.CutPrefix(event, []byte(envelopeStart))
	if !ok {
		return "", nil, false
	}
	for _, word := range [...]string{"ADDED", "MODIFIED", "DELETED"} {
		if object, ok := bytes.CutPrefix(rest, []byte(word)); ok {
			object, ok = bytes.CutPrefix(object, []byte(envelopeMiddle))
			return word, object, ok
		}
	}
	return "", nil, false
}

var (
	errNoEvent      = errors.New("a watch event needs a type and an object")
	errNoJSONObject = errors.New("not a JSON object")
)

// parseEnvelope parses an envelope with any white space, escapes and order of members. It checks
// each member by itself, so that an object that is nested too deeply is left to its decoder.
func parseEnvelope(event []byte) (word string, object []byte, err error) {
	m := wire.MembersOf(event)
	for m.Next() && (Format{}).Valid(m.Value) {
		switch string(m.Name) {
		case "type":
			if m.Value[0] == '"' {
				word = string(m.Text())
			}
		case "object":
			object = m.Value
		}
	}
	switch {
	case !m.Closed():
		err = json.Unmarshal(event, new(jsontext.Value), lenient) // says what is wrong, and where
		return "", nil, fmt.Errorf("frame is not a watch event: %w", cmp.Or(err, errNoJSONObject))
	case word == "" || len(object) == 0:
		return "", nil, errNoEvent
	}
	return word, object, nil
}

// Bookmark implements [format.Format].
func (Format) Bookmark(object []byte) (resourceVersion string, initialEventsEnd bool, err error) {
	var partial struct {
		Metadata struct {
			ResourceVersion string            `json:"resourceVersion"`
			Annotations     map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(object, &partial, lenient); err != nil {
		return "", false, withoutValue(err)
	}
	return partial.Metadata.ResourceVersion, partial.Metadata.Annotations[metav1.InitialEventsAnnotationKey] == "true", nil
}

// Kind implements [format.Format]. API servers write the kind first or after the apiVersion,
// without white space, so Kind finds it there without parsing. An item that begins with its
// metadata has no kind, and Kind looks no further. In all other objects, Kind walks through the
// members. If an object has two kinds, which no server writes, the first counts.
func (Format) Kind(object []byte, item bool) []byte {
	value, ok := bytes.CutPrefix(object, []byte(`{"kind":"`))
	if version, found := bytes.CutPrefix(object, []byte(`{"apiVersion":"`)); found {
		if _, rest, plain := cutText(version); plain {
			value, ok = bytes.CutPrefix(rest, []byte(`,"kind":"`))
		}
	}
	if ok {
		if kind, _, plain := cutText(value); plain {
			return kind
		}
	}
	if item && bytes.HasPrefix(object, []byte(`{"metadata"`)) {
		return nil
	}
	return walkToKind(object)
}

// cutText cuts b after the quote that ends a string. ok is false if the string has an escape, or
// does not end in b.
func cutText(b []byte) (text, rest []byte, ok bool) {
	text, rest, ok = bytes.Cut(b, []byte(`"`))
	return text, rest, ok && bytes.IndexByte(text, '\\') < 0
}

// walkToKind walks through the members of an object until it finds the kind.
func walkToKind(object []byte) []byte {
	for m := wire.MembersOf(object); m.Next(); {
		if string(m.Name) == "kind" && m.Value[0] == '"' {
			return m.Text()
		}
	}
	return nil
}
