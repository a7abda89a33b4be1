package cbor

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/internal/cborwire"
	"github.com/relist-go/relist/listwatch"
)

// Meta implements [listwatch.Encoding].
func (encoding) Meta(object []byte) listwatch.Meta {
	var meta listwatch.Meta
	var namespace, name string
	eachPair(object, func(key string, value []byte) {
		if key != "metadata" {
			return
		}
		eachPair(value, func(key string, value []byte) {
			switch text := cborwire.String(value); key {
			case "namespace":
				namespace = text
			case "name":
				name = text
			case "uid":
				meta.UID = types.UID(text)
			case "resourceVersion":
				meta.ResourceVersion = text
			}
		})
	})
	meta.Key = name
	if namespace != "" && name != "" {
		meta.Key = types.NamespacedName{Namespace: namespace, Name: name}.String()
	}
	return meta
}

// eachPair visits the members of a map that may end or break anywhere: the last value
// may be a part of one.
func eachPair(item []byte, visit func(key string, value []byte)) {
	pairs, ok := cborwire.OpenMap(item)
	for ok {
		var key string
		var value []byte
		key, value, ok, _ = pairs.Next() // where it breaks off, what was there was visited
		if ok || len(value) > 0 {
			visit(key, value)
		}
	}
}

// Bookmark implements [listwatch.Encoding].
func (encoding) Bookmark(object []byte) (resourceVersion string, initialEventsEnd bool, err error) {
	text, err := toJSON(object)
	if err != nil {
		return "", false, err
	}
	return listwatch.JSON.Bookmark(text)
}
