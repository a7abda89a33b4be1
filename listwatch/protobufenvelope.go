package listwatch

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/relist-go/relist/listwatch/internal/protowire"
)

// protobufMagic is what an envelope begins with.
var protobufMagic = []byte("k8s\x00")

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

// envelope is what stands around an object. Its parts are parts of the object's bytes.
type envelope struct {
	apiVersion, kind []byte
	raw              []byte
}

// openEnvelope returns what is in the envelope of an object. An item of a list has
// none, and is all raw. No message of an object begins as an envelope does: that would
// be a group, which Kubernetes never had. With an error comes as much as can be read.
func openEnvelope(object []byte) (e envelope, err error) {
	message, ok := bytes.CutPrefix(object, protobufMagic)
	if !ok {
		e.raw = object
		return e, nil
	}
	err = eachField(message, func(f protowire.Field) error {
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
	return eachField(message, func(f protowire.Field) error {
		switch f.Number {
		case typeMetaAPIVersion:
			e.apiVersion = f.Bytes
		case typeMetaKind:
			e.kind = f.Bytes
		}
		return nil
	})
}

// checkContent refuses an envelope with another encoding inside, which no server has
// sent yet.
func checkContent(f protowire.Field) error {
	switch {
	case len(f.Bytes) == 0:
		return nil
	case f.Number == unknownContentType && string(f.Bytes) == protobufMediaType:
		return nil
	}
	return protowire.Error(fmt.Sprintf("the content of the envelope is %.50q", f.Bytes))
}

// eachField visits the fields of a message. Where the message ends inside a field, it
// visits what is there of that field, and then returns protowire.ErrTruncated: callers
// that read leniently have what they want by then.
func eachField(message []byte, visit func(protowire.Field) error) error {
	for len(message) > 0 {
		field, rest, err := protowire.Next(message)
		if err != nil {
			if errors.Is(err, protowire.ErrTruncated) && field.Bytes != nil {
				_ = visit(field) // the error that counts is the first
			}
			return err
		}
		if err := visit(field); err != nil {
			return err
		}
		message = rest
	}
	return nil
}
