package apitest

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// protobufEncoder returns what writes objects of the type as protobuf, nil if nothing can.
func (r *Resource) protobufEncoder() func(object []byte) ([]byte, error) {
	switch {
	case r.Protobuf != nil:
		return r.Protobuf
	case r.Custom:
		return nil // as for kube-apiserver, which has no types of them
	}
	switch r.root() + "/" + r.Plural {
	case "/api/v1/configmaps":
		return encodeConfigMap
	case "/api/v1/secrets":
		return encodeSecret
	}
	return nil
}

// encodeConfigMap and encodeSecret write the fields of
// https://github.com/kubernetes/api/blob/master/core/v1/generated.proto, so that a server without the API's types has
// protobuf for the two that tests use the most.
func encodeConfigMap(object []byte) ([]byte, error) {
	var c struct {
		Metadata   metav1.ObjectMeta `json:"metadata"`
		Data       map[string]string `json:"data"`
		BinaryData map[string][]byte `json:"binaryData"`
		Immutable  *bool             `json:"immutable"`
	}
	if err := json.Unmarshal(object, &c); err != nil {
		return nil, err
	}
	b := appendField(nil, 1, mustMarshal(&c.Metadata))
	b = appendMap(b, 2, c.Data)
	b = appendMap(b, 3, c.BinaryData)
	return appendBool(b, 4, c.Immutable), nil
}

func encodeSecret(object []byte) ([]byte, error) {
	var s struct {
		Metadata  metav1.ObjectMeta `json:"metadata"`
		Data      map[string][]byte `json:"data"`
		Type      string            `json:"type"`
		Immutable *bool             `json:"immutable"`
	}
	if err := json.Unmarshal(object, &s); err != nil {
		return nil, err
	}
	b := appendField(nil, 1, mustMarshal(&s.Metadata))
	b = appendMap(b, 2, s.Data)
	b = appendField(b, 3, []byte(s.Type))
	return appendBool(b, 5, s.Immutable), nil
}

// appendMap appends the entries of a map, by key.
func appendMap[V string | []byte](b []byte, number uint64, m map[string]V) []byte {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		entry := appendField(nil, 1, []byte(key))
		b = appendField(b, number, appendField(entry, 2, []byte(m[key])))
	}
	return b
}

func appendBool(b []byte, number uint64, v *bool) []byte {
	if v == nil {
		return b
	}
	b = binary.AppendUvarint(b, number<<3)
	if *v {
		return append(b, 1)
	}
	return append(b, 0)
}
