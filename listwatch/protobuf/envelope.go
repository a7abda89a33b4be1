package protobuf

import (
	"bytes"
	"fmt"

	"github.com/relist-go/relist/listwatch/internal/protowire"
)

// magic is the first four bytes of an envelope.
var magic = []byte("k8s\x00")

// The fields of runtime.Unknown, the envelope, and of its TypeMeta:
// https://github.com/kubernetes/apimachinery/blob/master/pkg/runtime/generated.proto
const (
	unknownTypeMeta        = 1
	unknownRaw             = 2
	unknownContentEncoding = 3
	unknownContentType     = 4

	typeMetaAPIVersion = 1
	typeMetaKind       = 2
)

// envelope holds the parts of an object's envelope. They point into the object's
// bytes.
type envelope struct {
	apiVersion, kind []byte
	raw              []byte
}

// openEnvelope returns the parts of an object's envelope. For an item of a list, which
// has no envelope, all bytes are raw. An item cannot begin with the magic bytes,
// because these would begin a group, and Kubernetes never used groups. With an error,
// openEnvelope returns the parts that it could read.
func openEnvelope(object []byte) (e envelope, err error) {
	message, ok := bytes.CutPrefix(object, magic)
	if !ok {
		e.raw = object
		return e, nil
	}
	err = protowire.Each(message, func(f protowire.Field) error {
		switch f.Number {
		case unknownTypeMeta:
			return e.typeMeta(f.Bytes)
		case unknownRaw:
			e.raw = f.Bytes
		case unknownContentEncoding, unknownContentType:
			return checkContent(f)
		}
		return nil
	})
	return e, err
}

// typeMeta reads the apiVersion and the kind.
func (e *envelope) typeMeta(message []byte) error {
	return protowire.Each(message, func(f protowire.Field) error {
		switch f.Number {
		case typeMetaAPIVersion:
			e.apiVersion = f.Bytes
		case typeMetaKind:
			e.kind = f.Bytes
		}
		return nil
	})
}

// checkContent returns an error if the envelope says that its content is encoded in
// another way. No known server sends this.
func checkContent(f protowire.Field) error {
	switch {
	case len(f.Bytes) == 0:
		return nil
	case f.Number == unknownContentType && string(f.Bytes) == mediaType:
		return nil
	}
	return protowire.Error(fmt.Sprintf("the content of the envelope is %.50q", f.Bytes))
}
