package apitest

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// decodeEnvelope decodes the protobuf that a client sends: an envelope with the type, and an object
// of that type.
func decodeEnvelope(body []byte) (map[string]any, error) {
	rest, ok := bytes.CutPrefix(body, protobufMagic)
	if !ok {
		return nil, errors.New("the body does not begin as protobuf does")
	}
	var unknown runtime.Unknown
	if err := unknown.Unmarshal(rest); err != nil {
		return nil, err
	}
	gvk := schema.FromAPIVersionAndKind(unknown.APIVersion, unknown.Kind)
	m := messageOf(gvk)
	if gvk.Kind == "DeleteOptions" {
		m = messageTypes()["meta/v1.DeleteOptions"] // every API group has this kind
	}
	if m == nil {
		return nil, fmt.Errorf("no type %s has protobuf here", gvk)
	}
	obj, err := m.decode(unknown.Raw, maxDepth)
	if err != nil {
		return nil, err
	}
	obj["kind"], obj["apiVersion"] = unknown.Kind, unknown.APIVersion
	return obj, nil
}

// maxDepth is the largest depth of messages inside messages. There must be a limit, because one
// type has itself as a field.
const maxDepth = 100

// decode decodes a message into the value that its JSON would have. It skips unknown fields.
func (m *message) decode(b []byte, depth int) (map[string]any, error) {
	if depth == 0 {
		return nil, errors.New("messages lie too deep in each other")
	}
	obj := make(map[string]any)
	for len(b) > 0 {
		number, number64, value, rest, err := nextField(b)
		if err != nil {
			return nil, err
		}
		b = rest
		i := slices.IndexFunc(m.fields, func(f messageField) bool { return f.number == uint64(number) })
		if i < 0 {
			continue
		}
		f := m.fields[i]
		if err := f.set(obj, number64, value, depth); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", m.name, f.name, err)
		}
	}
	return obj, nil
}

// set adds one decoded value to an object.
func (f messageField) set(obj map[string]any, number uint64, value []byte, depth int) error {
	if f.mapped {
		entry := message{name: "entry", fields: []messageField{
			{number: 1, name: "key", kind: "string"}, {number: 2, name: "value", kind: f.kind, repeated: f.repeated},
		}}
		e, err := entry.decode(value, depth-1)
		if err != nil {
			return err
		}
		all, _ := obj[f.name].(map[string]any)
		if all == nil {
			all = make(map[string]any)
		}
		v, ok := e["value"]
		if !ok {
			v = map[string]any{} // the value is an empty message
		}
		all[str(e, "key")] = v
		obj[f.name] = all
		return nil
	}
	v, err := f.value(number, value, depth)
	switch {
	case err != nil:
		return err
	case f.name == "":
		members, _ := v.(map[string]any)
		maps.Copy(obj, members)
	case f.repeated:
		list, _ := obj[f.name].([]any)
		obj[f.name] = append(list, v)
	case !f.omitted || !isZero(v):
		obj[f.name] = v
	}
	return nil
}

// value returns one value as it is in JSON.
func (f messageField) value(number uint64, value []byte, depth int) (any, error) {
	switch f.kind {
	case "bool":
		return number != 0, nil
	case "int":
		return int64(number), nil // two's complement, as protobuf has it
	case "string":
		return string(value), nil
	case "bytes":
		return base64.StdEncoding.EncodeToString(value), nil
	}
	inner, ok := wellKnown[f.kind]
	if !ok {
		return messageTypes()[f.kind].decode(value, depth-1)
	}
	m, err := inner.decode(value, depth-1)
	if err != nil {
		return nil, err
	}
	seconds, _ := m["1"].(int64)
	second, _ := m["2"].(int64)
	switch f.kind {
	case "time", "microtime":
		if len(value) == 0 {
			return nil, nil //nolint:nilnil // in JSON, the zero time is null
		}
		layout := time.RFC3339
		if f.kind == "microtime" {
			layout = "2006-01-02T15:04:05.000000Z07:00"
		}
		return time.Unix(seconds, second).UTC().Format(layout), nil
	case "intstr":
		if seconds == 1 {
			return str(m, "3"), nil
		}
		return second, nil
	case "raw":
		if str(m, "1") == "" {
			return nil, nil //nolint:nilnil // in JSON, an empty value is null
		}
		return decodeObject([]byte(str(m, "1")))
	}
	return str(m, "1"), nil // a quantity
}

// wellKnown has the messages of types whose JSON is not made of their fields. The name of each
// field is its number.
var wellKnown = map[string]*message{
	"time":      {name: "Time", fields: []messageField{{number: 1, name: "1", kind: "int"}, {number: 2, name: "2", kind: "int"}}},
	"microtime": {name: "MicroTime", fields: []messageField{{number: 1, name: "1", kind: "int"}, {number: 2, name: "2", kind: "int"}}},
	"quantity":  {name: "Quantity", fields: []messageField{{number: 1, name: "1", kind: "string"}}},
	"intstr":    {name: "IntOrString", fields: []messageField{{number: 1, name: "1", kind: "int"}, {number: 2, name: "2", kind: "int"}, {number: 3, name: "3", kind: "string"}}},
	"raw":       {name: "RawExtension", fields: []messageField{{number: 1, name: "1", kind: "string"}}},
}

func isZero(v any) bool {
	return v == nil || v == "" || v == int64(0) || v == false || isEmpty(v)
}

// nextField reads the first field of a message. It returns the field's number, and its value as a
// whole number n or as bytes, and the rest of the message.
func nextField(b []byte) (number protowire.Number, n uint64, value, rest []byte, err error) {
	number, typ, size := protowire.ConsumeTag(b)
	if size < 0 {
		return 0, 0, nil, nil, protowire.ParseError(size)
	}
	b = b[size:]
	switch typ {
	case protowire.VarintType:
		n, size = protowire.ConsumeVarint(b)
	case protowire.BytesType:
		value, size = protowire.ConsumeBytes(b)
	default: // no message has a field of fixed size
		size = protowire.ConsumeFieldValue(number, typ, b)
	}
	if size < 0 {
		return 0, 0, nil, nil, protowire.ParseError(size)
	}
	return number, n, value, b[size:], nil
}
