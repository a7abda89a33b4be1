package objects

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A Format is an encoding that the API server has.
type Format uint8

// The formats.
const (
	JSON Format = iota
	Protobuf
	formats
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

func (s Shape) eventType() string {
	if s == Added {
		return "ADDED"
	}
	return "MODIFIED"
}

// encode returns a Pod as the API server sends it. Items of a list come without kind and
// apiVersion, as from there.
func encode(pod *corev1.Pod, f Format, s Shape) ([]byte, error) {
	if s != Item {
		pod.TypeMeta = TypeMeta
		defer func() { pod.TypeMeta = metav1.TypeMeta{} }()
		return Event(s.eventType(), pod, f)
	}
	if f == JSON {
		return json.Marshal(pod)
	}
	return pod.Marshal()
}

type event struct {
	Type   string `json:"type"`
	Object any    `json:"object"`
}

// EnvelopeHead is what comes before a protobuf message of n bytes, in the envelope that says what
// it is. Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
func EnvelopeHead(meta metav1.TypeMeta, n int) []byte {
	typeMeta := appendField(appendField(nil, 1, []byte(meta.APIVersion)), 2, []byte(meta.Kind))
	head := appendField([]byte("k8s\x00"), 1, typeMeta)
	return binary.AppendUvarint(append(head, 2<<3|2), uint64(n))
}

// EnvelopeTail is what comes after it: an encoding and a content type, both empty.
const EnvelopeTail = "\x1a\x00\x22\x00"

// frame returns an event of a watch in protobuf, with its length in front.
func frame(eventType string, object []byte) []byte {
	ev := appendField(nil, 1, []byte(eventType))
	ev = appendField(ev, 2, appendField(nil, 1, object))
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(ev))), ev...)
}

// Event returns an event of a watch.
func Event(eventType string, obj runtime.Object, f Format) ([]byte, error) {
	if f == JSON {
		line, err := json.Marshal(event{eventType, obj})
		return append(line, '\n'), err
	}
	m, ok := obj.(interface{ Marshal() ([]byte, error) })
	if !ok {
		return nil, fmt.Errorf("%T cannot be encoded as protobuf", obj)
	}
	raw, err := m.Marshal()
	apiVersion, kind := obj.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	envelope := append(EnvelopeHead(metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, len(raw)), raw...)
	return frame(eventType, append(envelope, EnvelopeTail...)), err
}
