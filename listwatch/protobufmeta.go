package listwatch

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/listwatch/internal/protowire"
	"github.com/relist-go/relist/listwatch/internal/wire"
)

// The first field of every object is its ObjectMeta. These are some of its fields:
// https://github.com/kubernetes/apimachinery/blob/master/pkg/apis/meta/v1/generated.proto
const (
	objectMetadata = 1

	metadataName            = 1
	metadataNamespace       = 3
	metadataUID             = 5
	metadataResourceVersion = 6
	metadataAnnotations     = 12

	mapKey, mapValue = 1, 2
)

// Kind implements [Encoding]. Items of a list have no envelope, and so no kind.
func (protobufEncoding) Kind(object []byte, _ bool) []byte {
	e, _ := openEnvelope(object) // where it is torn, the decoder says so
	return e.kind
}

// Meta implements [Encoding].
func (protobufEncoding) Meta(object []byte) Meta {
	meta, _, _ := protobufMetadata(object) // as far as it goes
	return meta
}

// identity implements identifier.
func (protobufEncoding) identity(object []byte) (id wire.Identity) {
	e, err := openEnvelope(object)
	if err != nil {
		return wire.Identity{}
	}
	err = eachField(e.raw, func(f protowire.Field) error {
		if f.Number != objectMetadata {
			return nil
		}
		return eachField(f.Bytes, func(f protowire.Field) error {
			switch f.Number {
			case metadataName:
				id.Name = f.Bytes
			case metadataNamespace:
				id.Namespace = f.Bytes
			case metadataUID:
				id.UID = f.Bytes
			case metadataResourceVersion:
				id.ResourceVersion = f.Bytes
			}
			return nil
		})
	})
	if err != nil {
		return wire.Identity{}
	}
	return id
}

// Bookmark implements [Encoding].
func (protobufEncoding) Bookmark(object []byte) (resourceVersion string, initialEventsEnd bool, err error) {
	meta, end, err := protobufMetadata(object)
	return meta.ResourceVersion, end, err
}

// protobufMetadata reads what stands in the metadata of an object. With an error comes
// what was read before it.
func protobufMetadata(object []byte) (meta Meta, initialEventsEnd bool, err error) {
	var namespace, name string
	read := func(f protowire.Field) error {
		switch f.Number {
		case metadataName:
			name = string(f.Bytes)
		case metadataNamespace:
			namespace = string(f.Bytes)
		case metadataUID:
			meta.UID = types.UID(f.Bytes)
		case metadataResourceVersion:
			meta.ResourceVersion = string(f.Bytes)
		case metadataAnnotations:
			end, err := isInitialEventsEnd(f.Bytes)
			initialEventsEnd = initialEventsEnd || end
			return err
		}
		return nil
	}
	e, err := openEnvelope(object)
	inside := eachField(e.raw, func(f protowire.Field) error {
		if f.Number == objectMetadata && f.Type == protowire.Bytes {
			return eachField(f.Bytes, read)
		}
		return nil
	})
	if err == nil {
		err = inside
	}
	meta.Key = name
	if namespace != "" && name != "" {
		meta.Key = types.NamespacedName{Namespace: namespace, Name: name}.String()
	}
	return meta, initialEventsEnd, err
}

// isInitialEventsEnd reports whether an annotation is the one on the bookmark that ends
// the initial events.
func isInitialEventsEnd(entry []byte) (bool, error) {
	var key, value []byte
	err := eachField(entry, func(f protowire.Field) error {
		switch f.Number {
		case mapKey:
			key = f.Bytes
		case mapValue:
			value = f.Bytes
		}
		return nil
	})
	return string(key) == metav1.InitialEventsAnnotationKey && string(value) == "true", err
}
