package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// encoding is the format of objects, events and Statuses on the wire. It is the value of an option
// of the start line.
type encoding string

const (
	jsonEncoding     encoding = "json"
	protobufEncoding encoding = "protobuf"
)

// mediaTypes returns the Content-Type of whole answers and that of watches.
func (e encoding) mediaTypes() (whole, watch string) {
	if e == protobufEncoding {
		return "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf;stream=watch"
	}
	return mediaType, mediaType
}

func (e encoding) encode(obj jsonObject) ([]byte, error) {
	if e == protobufEncoding {
		return protobufOf(obj)
	}
	return withNewline(obj), nil
}

// lengthBytes is the size of the length before each event of a watch in protobuf. A WebSocket's
// message does not contain the length.
const lengthBytes = 4

// event makes an event of a watch: one chunk, unless it is split.
func (e encoding) event(typ string, obj jsonObject) (*chunk, error) {
	if e == jsonEncoding {
		return &chunk{data: withNewline(jsonObject{"type": value(typ), "object": value(obj)}), event: true}, nil
	}
	encoded, err := e.encode(obj)
	if err != nil {
		return nil, err
	}
	event, err := (&metav1.WatchEvent{Type: typ, Object: runtime.RawExtension{Raw: encoded}}).Marshal()
	length := binary.BigEndian.AppendUint32(nil, uint32(len(event))) // an event is one line of a file, far below 4 GiB
	return &chunk{data: append(length, event...), event: true, length: lengthBytes, binary: true}, err
}

// protobufOf makes an object, a list or a Status in its envelope.
func protobufOf(obj jsonObject) ([]byte, error) {
	var head metav1.TypeMeta
	if err := into(value(obj), &head); err != nil {
		return nil, err
	}
	var message []byte
	var err error
	items, isList := obj["items"]
	switch {
	case head.Kind == "Status":
		var status metav1.Status
		if err = into(value(obj), &status); err == nil {
			message, err = status.Marshal()
		}
	case isList:
		message, err = protobufList(obj["metadata"], items)
	default:
		message, err = protobufMessage(obj)
	}
	if err != nil {
		return nil, err
	}
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: head.APIVersion, Kind: head.Kind}, Raw: message}
	envelope, err := unknown.Marshal()
	return append([]byte("k8s\x00"), envelope...), err
}

func protobufList(metadata, items jsontext.Value) ([]byte, error) {
	var meta metav1.ListMeta
	var objects []jsonObject
	if err := errors.Join(into(metadata, &meta), into(items, &objects)); err != nil {
		return nil, err
	}
	raw, err := meta.Marshal()
	b := appendField(nil, 1, raw)
	for _, obj := range objects {
		message, failed := protobufMessage(obj)
		b, err = appendField(b, 2, message), errors.Join(err, failed)
	}
	return b, err
}

// protobufMessage makes the parts of an object that traces use: its metadata, and the data of a
// ConfigMap.
func protobufMessage(obj jsonObject) ([]byte, error) {
	var meta metav1.ObjectMeta
	var data map[string]string
	err := into(obj["metadata"], &meta)
	if text, ok := obj["data"]; ok {
		err = errors.Join(err, into(text, &data))
	}
	if err != nil {
		return nil, fmt.Errorf("protobuf has no such object, use raw: %w", err)
	}
	raw, err := meta.Marshal()
	b := appendField(nil, 1, raw)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		b = appendField(b, 2, appendField(appendField(nil, 1, []byte(key)), 2, []byte(data[key])))
	}
	return b, err
}

func into(text jsontext.Value, target any) error {
	if len(text) == 0 {
		return nil
	}
	return json.Unmarshal(text, target)
}

func appendField(b []byte, number uint64, value []byte) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, number<<3|2), uint64(len(value)))
	return append(b, value...)
}

// Unmarshal reads what [protobufMessage] makes, as generated code would.
func (c *configMap) Unmarshal(message []byte) error {
	var meta metav1.PartialObjectMetadata
	if err := meta.Unmarshal(message); err != nil {
		return err
	}
	c.ObjectMeta = meta.ObjectMeta
	return nil
}

// Unmarshal reads the metadata, which is the first field of every object.
func (o *anyObject) Unmarshal(message []byte) error {
	var meta metav1.PartialObjectMetadata
	if err := meta.Unmarshal(message); err != nil {
		return err
	}
	o.ObjectMeta = meta.ObjectMeta
	return nil
}
