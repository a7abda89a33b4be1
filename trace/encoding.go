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
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// encoding is the format of objects, events and Statuses on the wire. It is the value of an option of the start line.
type encoding string

const (
	jsonEncoding     encoding = "json"
	protobufEncoding encoding = "protobuf"
	cborEncoding     encoding = "cbor"
)

// mediaTypes returns the Content-Type of whole answers and that of watches.
func (e encoding) mediaTypes() (whole, watch string) {
	switch e {
	case protobufEncoding:
		return "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf;stream=watch"
	case cborEncoding:
		return "application/cbor", "application/cbor-seq"
	default:
		return mediaType, mediaType
	}
}

// encode makes the body of an answer.
func (e encoding) encode(obj jsonObject) ([]byte, error) {
	switch e {
	case protobufEncoding:
		return protobufOf(obj)
	case cborEncoding:
		return cborOf(obj)
	default:
		return withNewline(obj), nil
	}
}

// lengthBytes is the size of the length before each event of a watch in protobuf. A WebSocket's message does not
// contain the length.
const lengthBytes = 4

// event makes an event of a watch: one chunk, unless it is split.
func (e encoding) event(typ string, obj jsonObject) (*chunk, error) {
	if e == jsonEncoding {
		return &chunk{data: withNewline(jsonObject{"type": value(typ), "object": value(obj)})}, nil
	}
	encoded, err := e.encode(obj)
	if err != nil {
		return nil, err
	}
	if e == cborEncoding {
		return &chunk{data: cborEvent(typ, encoded), binary: true}, nil
	}
	event, err := (&metav1.WatchEvent{Type: typ, Object: runtime.RawExtension{Raw: encoded}}).Marshal()
	length := binary.BigEndian.AppendUint32(nil, uint32(len(event))) // an event is one line of a file, far below 4 GiB
	return &chunk{data: append(length, event...), length: lengthBytes, binary: true}, err
}

// cborTag marks the bytes after it as CBOR. API servers put it before each answer, before each event, and before the
// object in an event.
const cborTag = "\xd9\xd9\xf7"

// cborOf makes an object, a list or a Status. It sorts the members by the length of their names.
func cborOf(obj jsonObject) ([]byte, error) {
	var content map[string]any
	if err := utiljson.Unmarshal(value(obj), &content); err != nil {
		return nil, fmt.Errorf("CBOR has no such object, use raw: %w", err)
	}
	encoded, err := direct.Marshal(content)
	return append([]byte(cborTag), encoded...), err
}

func cborEvent(typ string, encoded []byte) []byte {
	b := []byte(cborTag + "\xa2") // a map with two members
	for _, text := range []string{"type", typ, "object"} {
		word, err := direct.Marshal(text)
		if err != nil {
			panic("trace: unreachable: a string can be encoded: " + err.Error())
		}
		b = append(b, word...)
	}
	return append(b, encoded...)
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

// protobufMessage makes the parts of an object that traces use: its metadata, and the data of a ConfigMap.
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
