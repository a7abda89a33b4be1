package apitest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (m *message) encodeJSON(object []byte) ([]byte, error) {
	obj, err := decodeObject(object)
	if err != nil {
		return nil, err
	}
	return m.encode(obj)
}

// encode writes the members of an object as the fields of the message. It returns an error if a
// member does not have the type of its field.
func (m *message) encode(obj map[string]any) (b []byte, err error) {
	for _, f := range m.fields {
		v := obj[f.name]
		if f.name == "" {
			v = obj
		}
		if v == nil {
			continue
		}
		if b, err = f.append(b, v); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", m.name, f.name, err)
		}
	}
	return b, nil
}

// append appends the values of a field, with their tags.
func (f messageField) append(b []byte, v any) (_ []byte, err error) {
	switch {
	case f.mapped:
		entries, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%T is no object", v)
		}
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			entry, err := messageField{number: 2, kind: f.kind, repeated: f.repeated}.append(appendField(nil, 1, []byte(key)), entries[key])
			if err != nil {
				return nil, err
			}
			b = appendField(b, f.number, entry)
		}
		return b, nil
	case f.repeated:
		list, ok := v.([]any)
		if !ok {
			return nil, fmt.Errorf("%T is no list", v)
		}
		for _, v := range list {
			if b, err = f.appendOne(b, v); err != nil {
				return nil, err
			}
		}
		return b, nil
	}
	return f.appendOne(b, v)
}

func (f messageField) appendOne(b []byte, v any) ([]byte, error) {
	switch f.kind {
	case "bool":
		x, ok := v.(bool)
		n := int64(0)
		switch {
		case !ok:
			return nil, fmt.Errorf("%T is no boolean", v)
		case x:
			n = 1
		}
		return appendVarint(b, f.number, n), nil
	case "int":
		n, ok := v.(int64)
		if !ok {
			return nil, fmt.Errorf("%T is no whole number", v)
		}
		return appendVarint(b, f.number, n), nil
	}
	value, err := f.bytes(v)
	if err != nil {
		return nil, err
	}
	return appendField(b, f.number, value), nil
}

func appendVarint(b []byte, number uint64, n int64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, number<<3), uint64(n)) // two's complement, as protobuf has it
}

// bytes returns the encoding of a value that protobuf writes with its length before it.
func (f messageField) bytes(v any) ([]byte, error) {
	s, isString := v.(string)
	switch f.kind {
	case "raw": // {1: JSON}
		raw, err := appendJSON(nil, v)
		return appendField(nil, 1, raw), err
	case "intstr": // {1: which, 2: number, 3: text}
		if n, ok := v.(int64); ok {
			return appendField(appendVarint(appendVarint(nil, 1, 0), 2, n), 3, nil), nil
		}
		if isString {
			return appendField(appendVarint(appendVarint(nil, 1, 1), 2, 0), 3, []byte(s)), nil
		}
	case "quantity": // {1: text}
		if n, ok := v.(int64); ok {
			s, isString = fmt.Sprint(n), true
		}
		if isString {
			return appendField(nil, 1, []byte(s)), nil
		}
	case "string":
		if isString {
			return []byte(s), nil
		}
	case "bytes":
		if isString {
			return base64.StdEncoding.DecodeString(s)
		}
	case "time", "microtime": // {1: seconds, 2: nanoseconds}
		t, err := time.Parse(time.RFC3339, s)
		return appendVarint(appendVarint(nil, 1, t.Unix()), 2, int64(t.Nanosecond())), err
	default:
		obj, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%T is no %s", v, f.kind)
		}
		if f.kind == "meta/v1.ObjectMeta" {
			return encodeMetadata(obj)
		}
		return messageTypes()[f.kind].encode(obj)
	}
	return nil, fmt.Errorf("%T is no %s", v, f.kind)
}

// encodeMetadata encodes metadata with the code of apimachinery.
func encodeMetadata(meta map[string]any) ([]byte, error) {
	b, err := appendJSON(nil, meta)
	if err != nil {
		return nil, err
	}
	var m metav1.ObjectMeta
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, err
	}
	return m.Marshal()
}
