package objects

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
)

// A Format is an encoding that the API server has.
type Format uint8

// The formats.
const (
	JSON Format = iota
	Protobuf
	CBOR
	formats
)

// A View is how much of an object is wanted.
type View uint8

// The views.
const (
	Full View = iota
	Metadata
	views
)

// A Shape is where an object stands.
type Shape uint8

// The shapes: an item of a list, and an event of a watch with its framing.
const (
	Item Shape = iota
	Added
	Modified
	shapes
)

// eventType is the word of an event.
func (s Shape) eventType() string {
	if s == Added {
		return "ADDED"
	}
	return "MODIFIED"
}

// An object can be encoded in each format, as the types of k8s.io/api can.
type object interface {
	runtime.Object
	metav1.Object
	Marshal() ([]byte, error)
}

// encode returns obj as the API server sends it. Items of a list come without kind and apiVersion, as from there.
func encode(obj object, meta metav1.TypeMeta, f Format, s Shape) ([]byte, error) {
	if f == Protobuf {
		raw, err := obj.Marshal()
		if err != nil || s == Item {
			return raw, err
		}
		return Frame(s.eventType(), Envelope(meta, raw)), nil
	}
	if s != Item {
		obj.GetObjectKind().SetGroupVersionKind(meta.GroupVersionKind())
		defer obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	switch {
	case f == JSON && s == Item:
		return json.Marshal(obj)
	case f == JSON:
		line, err := json.Marshal(event{s.eventType(), obj})
		return append(line, '\n'), err
	case s == Item:
		return direct.Marshal(obj)
	default:
		return direct.Marshal(event{s.eventType(), obj})
	}
}

type event struct {
	Type   string `json:"type"`
	Object any    `json:"object"`
}

// Envelope returns a protobuf message in the envelope that says what it is.
// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
func Envelope(meta metav1.TypeMeta, raw []byte) []byte {
	return append(append(EnvelopeHead(meta, len(raw)), raw...), EnvelopeTail...)
}

// EnvelopeHead is what comes before a message of n bytes.
func EnvelopeHead(meta metav1.TypeMeta, n int) []byte {
	typeMeta := appendField(appendField(nil, 1, []byte(meta.APIVersion)), 2, []byte(meta.Kind))
	head := appendField([]byte("k8s\x00"), 1, typeMeta)
	return binary.AppendUvarint(append(head, 2<<3|2), uint64(n))
}

// EnvelopeTail is what comes after it: an encoding and a content type, both empty.
const EnvelopeTail = "\x1a\x00\x22\x00"

// Frame returns an event of a watch in protobuf, with its length in front.
func Frame(eventType string, object []byte) []byte {
	ev := appendField(nil, 1, []byte(eventType))
	ev = appendField(ev, 2, appendField(nil, 1, object))
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(ev))), ev...)
}

// Event returns any other event, such as a bookmark.
func Event(eventType string, obj runtime.Object, f Format) ([]byte, error) {
	switch f {
	case JSON:
		line, err := json.Marshal(event{eventType, obj})
		return append(line, '\n'), err
	case CBOR:
		return direct.Marshal(event{eventType, obj})
	default:
		m, ok := obj.(interface{ Marshal() ([]byte, error) })
		if !ok {
			return nil, fmt.Errorf("%T cannot be encoded as protobuf", obj)
		}
		raw, err := m.Marshal()
		apiVersion, kind := obj.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
		return Frame(eventType, Envelope(metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, raw)), err
	}
}
