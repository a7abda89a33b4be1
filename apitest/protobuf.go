package apitest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const protobufMediaType = "application/vnd.kubernetes.protobuf"

// protobufMagic is the beginning of an envelope.
var protobufMagic = []byte("k8s\x00")

// protobufFormat writes protobuf: whole objects of built-in types, or PartialObjectMetadata of any
// type (list-protobuf.bin, watch-protobuf.bin).
type protobufFormat struct {
	kind  schema.GroupVersionKind
	whole *message // nil: metadata alone
}

// newProtobufFormat returns false for a form that this server cannot write as protobuf. version is
// that of meta.k8s.io.
func newProtobufFormat(t *table, form form, version string) (f protobufFormat, ok bool) {
	switch {
	case form == metadataOnly && version == "v1":
		return protobufFormat{kind: metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")}, true
	case form != whole || t.res.Custom: // kube-apiserver has no message of a custom type either
		return f, false
	}
	f.kind = schema.GroupVersionKind{Group: t.res.Group, Version: t.res.Version, Kind: t.res.Kind}
	f.whole = messageOf(f.kind)
	return f, f.whole != nil
}

func (f protobufFormat) contentType(watch bool) string {
	if watch {
		return protobufMediaType + ";stream=watch"
	}
	return protobufMediaType
}

// protobufMessages has the messages of one state of an object. Each is nil until it is asked for.
type protobufMessages struct {
	whole, metadata atomic.Pointer[[]byte]
}

// message returns an object without an envelope. It is encoded once and kept, because a list has to
// know its length first, and several watches need it. If several goroutines ask for it at the same
// time, each may encode it.
func (f protobufFormat) message(r *revision) []byte {
	kept := &r.messages.whole
	if f.whole == nil {
		kept = &r.messages.metadata
	}
	if message := kept.Load(); message != nil {
		return *message
	}
	message := f.newMessage(r)
	kept.Store(&message)
	return message
}

// newMessage encodes an object. This server stores objects without a check, so the encoder may
// refuse one. In that case the message has only the metadata.
func (f protobufFormat) newMessage(r *revision) []byte {
	if f.whole != nil {
		if message, err := f.whole.encodeJSON(append([]byte{'{'}, r.body...)); err == nil {
			return message
		}
	}
	var partial metav1.PartialObjectMetadata
	// An error does not matter: members that are not valid metadata are left out.
	_ = json.Unmarshal(append(append([]byte{'{'}, r.body[:r.meta]...), '}'), &partial)
	return mustMarshal(&partial)
}

func (f protobufFormat) object(b []byte, r *revision) []byte {
	return appendEnvelope(b, f.kind, f.message(r))
}

// listHead appends the beginning of a list. It contains the length of all items.
func (f protobufFormat) listHead(b []byte, meta metav1.ListMeta, items []*revision) []byte {
	list := f.kind
	list.Kind += "List"
	if list.Kind == "PartialObjectMetadataList" {
		meta.ShardInfo = nil // kube-apiserver does not copy it
	}
	head := appendField(nil, 1, mustMarshal(&meta))
	size := len(head)
	for _, r := range items {
		size += len(appendField(nil, 2, f.message(r)))
	}
	apiVersion, kind := list.ToAPIVersionAndKind()
	b = append(b, protobufMagic...)
	b = appendField(b, 1, mustMarshal(&runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}))
	b = binary.AppendUvarint(append(b, 2<<3|2), uint64(size)) // size is a sum of lengths
	return append(b, head...)
}

func (f protobufFormat) item(b []byte, _ int, r *revision) []byte {
	return appendField(b, 2, f.message(r))
}

// listTail appends the fields of the envelope that follow the list. They are empty.
func (f protobufFormat) listTail(b []byte) []byte {
	return appendField(appendField(b, 3, nil), 4, nil)
}

func (f protobufFormat) event(b []byte, typ eventType, r *revision) []byte {
	return appendProtobufEvent(b, string(typ), f.object(nil, r))
}

func (f protobufFormat) bookmark(b []byte, rv uint64, end bool) []byte {
	partial := metav1.PartialObjectMetadata{ObjectMeta: bookmarkMeta(rv, end)}
	return appendProtobufEvent(b, "BOOKMARK", appendEnvelope(nil, f.kind, mustMarshal(&partial)))
}

func (f protobufFormat) status(b []byte, status *metav1.Status) []byte {
	return appendProtobufEvent(b, "ERROR", protobufStatus(status))
}

func protobufStatus(status *metav1.Status) []byte {
	return appendEnvelope(nil, schema.GroupVersionKind{Version: "v1", Kind: "Status"}, mustMarshal(status))
}

func appendEnvelope(b []byte, kind schema.GroupVersionKind, message []byte) []byte {
	unknown := runtime.Unknown{Raw: message}
	unknown.APIVersion, unknown.Kind = kind.ToAPIVersionAndKind()
	return append(append(b, protobufMagic...), mustMarshal(&unknown)...)
}

// appendProtobufEvent appends a frame: its length, and a WatchEvent.
func appendProtobufEvent(b []byte, typ string, object []byte) []byte {
	event := mustMarshal(&metav1.WatchEvent{Type: typ, Object: runtime.RawExtension{Raw: object}})
	b = binary.BigEndian.AppendUint32(b, uint32(len(event))) // no object has 4 GiB
	return append(b, event...)
}

func appendField(b []byte, number uint64, value []byte) []byte {
	b = binary.AppendUvarint(b, number<<3|2)
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(b, value...)
}

// mustMarshal encodes a value of a type of apimachinery.
func mustMarshal(v interface{ Marshal() ([]byte, error) }) []byte {
	b, err := v.Marshal()
	if err != nil {
		// unreachable: generated code returns an error only if it has computed a wrong size for the
		// value.
		panic(fmt.Sprintf("apitest: encode %T: %v", v, err))
	}
	return b
}
