package apitest

import (
	"encoding/binary"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// protobufEncoder returns what writes objects of the type as protobuf, nil if nothing can.
func (r *Resource) protobufEncoder() func(object []byte) ([]byte, error) {
	switch {
	case r.Protobuf != nil:
		return r.Protobuf
	case r.Custom:
		return nil // as for kube-apiserver, which has no types of them
	}
	if m := messageOf(schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}); m != nil {
		return m.encodeJSON
	}
	return nil
}

func appendBool(b []byte, number uint64, v bool) []byte {
	b = binary.AppendUvarint(b, number<<3)
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}
