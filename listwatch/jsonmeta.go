package listwatch

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/types"
)

// Meta implements [Encoding].
func (jsonEncoding) Meta(object []byte) Meta { return readMeta(object) }

// readMeta reads what it can of an object's metadata from JSON that may be of
// the wrong shape anywhere: whatever is not a string where a string should be
// is passed over.
func readMeta(data []byte) Meta {
	var meta Meta
	var namespace, name string
	dec := jsontext.NewDecoder(bytes.NewReader(data), lenient)
	eachMember(dec, func(key string) {
		if key != "metadata" {
			return
		}
		eachMember(dec, func(key string) {
			if dec.PeekKind() != '"' {
				return
			}
			var value *string
			switch key {
			case "namespace":
				value = &namespace
			case "name":
				value = &name
			case "uid":
				value = (*string)(&meta.UID)
			case "resourceVersion":
				value = &meta.ResourceVersion
			default:
				return
			}
			if token, err := dec.ReadToken(); err == nil {
				*value = token.String()
			}
		})
	})
	meta.Key = name
	if namespace != "" && name != "" {
		meta.Key = types.NamespacedName{Namespace: namespace, Name: name}.String()
	}
	return meta
}

// eachMember calls visit for every member of the object that comes next, and
// skips the values that visit did not read. It returns early where the JSON
// ends or breaks, or where no object comes next.
func eachMember(dec *jsontext.Decoder, visit func(key string)) {
	if dec.PeekKind() != '{' {
		return
	}
	if _, err := dec.ReadToken(); err != nil {
		return
	}
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return
		}
		key, before := token.String(), dec.InputOffset()
		visit(key)
		if dec.InputOffset() == before && dec.SkipValue() != nil {
			return
		}
	}
	// The closing brace, or the point where the JSON breaks: the next read says.
	if dec.PeekKind() == '}' {
		_, _ = dec.ReadToken()
	}
}
