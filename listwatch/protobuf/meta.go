package protobuf

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/internal/protowire"
)

// The first field of every object is its ObjectMeta. These are some fields of ObjectMeta:
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

// Kind implements [format.Format]. It returns nil for items of a list, because they have
// no envelope.
func (Format) Kind(object []byte, _ bool) []byte {
	e, _ := openEnvelope(object) // if the envelope is torn, the decoder returns the error
	return e.kind
}

// Identify implements [format.Format].
func (Format) Identify(object []byte) (id format.Identity) {
	_ = eachMetadata(object, func(f protowire.Field) error { // parts that cannot be read are left out
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
	return id
}

// Bookmark implements [format.Format].
func (Format) Bookmark(object []byte) (resourceVersion string, initialEventsEnd bool, err error) {
	err = eachMetadata(object, func(f protowire.Field) error {
		switch f.Number {
		case metadataResourceVersion:
			resourceVersion = string(f.Bytes)
		case metadataAnnotations:
			end, err := isInitialEventsEnd(f.Bytes)
			initialEventsEnd = initialEventsEnd || end
			return err
		}
		return nil
	})
	return resourceVersion, initialEventsEnd, err
}

// eachMetadata visits the fields of an object's metadata. If the metadata are cut off, it
// visits those that are complete.
func eachMetadata(object []byte, visit func(protowire.Field) error) error {
	e, err := openEnvelope(object)
	inside := protowire.Each(e.raw, func(f protowire.Field) error {
		if f.Number != objectMetadata || f.Type != protowire.Bytes {
			return nil
		}
		for message := f.Bytes; len(message) > 0; {
			field, rest, err := protowire.Next(message)
			if err != nil {
				return err
			}
			if err := visit(field); err != nil {
				return err
			}
			message = rest
		}
		return nil
	})
	return cmp.Or(err, inside)
}

// isInitialEventsEnd reports whether an annotation is the one on the bookmark that ends
// the initial events.
func isInitialEventsEnd(entry []byte) (bool, error) {
	var key, value []byte
	err := protowire.Each(entry, func(f protowire.Field) error {
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
