package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/relist-go/relist/listwatch/cbor"
	"github.com/relist-go/relist/listwatch/format"
	relistjson "github.com/relist-go/relist/listwatch/json"
	"github.com/relist-go/relist/listwatch/protobuf"
	"github.com/relist-go/relist/transport/frames"
)

// Encoding is the format in which a recorded client asks for objects. The server may answer in JSON all the same.
type Encoding string

// The encodings that a trace supports. The zero value is JSON.
const (
	JSON     Encoding = "json"
	Protobuf Encoding = "protobuf"
	CBOR     Encoding = "cbor"
)

// encoding reads the answers of a server in one encoding. It converts them to JSON for the reducer.
type encoding interface {
	format.Format

	name() Encoding

	// object returns an object, a list or a Status as JSON. event does the same for an event.
	object(body []byte) (jsontext.Value, error)
	event(message []byte) (jsontext.Value, error)

	// cutter finds the events of a watch's body. Each begins with length bytes that are no part of its message.
	cutter() cutter
	length() int

	// begun returns the beginning of an event or a list that was cut off. It contains no part of an object.
	begun(data []byte, list bool) []byte

	// unreadable returns a message for one that cannot be read. The result cannot be read either, and contains no part
	// of an object. For JSON it returns nil, because the scrubber reads JSON.
	unreadable(message []byte) []byte
}

// cutter gets the bytes of a body as they come. It returns how many of them belong to the event, and whether the
// event is then complete. It never takes bytes beyond the event. If the bytes are not an event at all, it takes all
// of them.
type cutter func(data []byte) (n int, whole bool)

var encodings = []encoding{jsonFormat{}, protobufFormat{}, cborFormat{}}

// encodingOf returns the encoding of an answer, or nil if a trace does not support it.
func encodingOf(mediaType string, watch bool) encoding {
	for _, e := range encodings {
		if watch && mediaType == e.StreamMediaType() || !watch && mediaType == e.MediaType() {
			return e
		}
	}
	return nil
}

// framesOf returns the formats of watches that a client asks for. If the client names none, it returns JSON.
func framesOf(accept string) (asked []frames.Format) {
	for clause := range strings.SplitSeq(accept, ",") {
		mediaType, _, _ := strings.Cut(clause, ";")
		for _, e := range encodings {
			if e.MediaType() == strings.TrimSpace(mediaType) && !slices.Contains(asked, frames.Format(e)) {
				asked = append(asked, e)
			}
		}
	}
	if asked == nil {
		asked = []frames.Format{jsonFormat{}}
	}
	return asked
}

// statusOf reads the Status of a refusal in any encoding.
func statusOf(body []byte) (s metav1.Status, err error) {
	for _, e := range encodings {
		var text jsontext.Value
		if text, err = e.object(body); err != nil {
			continue
		}
		if err = json.Unmarshal(text, &s, lenient); err == nil && s.Kind == "Status" {
			return s, nil
		}
	}
	return metav1.Status{}, errors.Join(errors.New("no Status"), err)
}

type jsonFormat struct{ relistjson.Format }

func (jsonFormat) name() Encoding                               { return JSON }
func (jsonFormat) object(body []byte) (jsontext.Value, error)   { return body, nil }
func (jsonFormat) event(message []byte) (jsontext.Value, error) { return message, nil }
func (jsonFormat) length() int                                  { return 0 }
func (jsonFormat) begun(data []byte, _ bool) []byte             { return bytes.Clone(data) }
func (jsonFormat) unreadable([]byte) []byte                     { return nil }

func (jsonFormat) cutter() cutter {
	return func(data []byte) (int, bool) {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			return i + 1, true
		}
		return len(data), false
	}
}

// protobufFormat reads only the metadata of objects, because the rest of a message has no meaning without its type.
type protobufFormat struct{ protobuf.Format }

const (
	protobufMagic = "k8s\x00"
	lengthBytes   = 4
)

func (protobufFormat) name() Encoding { return Protobuf }
func (protobufFormat) length() int    { return lengthBytes }

func (protobufFormat) object(body []byte) (jsontext.Value, error) {
	envelope, found := bytes.CutPrefix(body, []byte(protobufMagic))
	if !found {
		return nil, errors.New("not protobuf")
	}
	var unknown runtime.Unknown
	if err := unknown.Unmarshal(envelope); err != nil {
		return nil, err
	}
	kind := metav1.TypeMeta{Kind: unknown.Kind, APIVersion: unknown.APIVersion}
	var into interface{ Unmarshal([]byte) error }
	switch {
	case kind.Kind == "Status":
		into = &metav1.Status{TypeMeta: kind}
	case strings.HasSuffix(kind.Kind, "List"):
		into = &metav1.PartialObjectMetadataList{TypeMeta: kind}
	default:
		into = &metav1.PartialObjectMetadata{TypeMeta: kind}
	}
	if err := into.Unmarshal(unknown.Raw); err != nil {
		return nil, err
	}
	return json.Marshal(into, jsontext.AllowInvalidUTF8(true))
}

func (f protobufFormat) event(message []byte) (jsontext.Value, error) {
	var e metav1.WatchEvent
	if err := e.Unmarshal(message); err != nil {
		return nil, err
	}
	obj, err := f.object(e.Object.Raw)
	return eventOf(e.Type, obj), err
}

func eventOf(typ string, obj jsontext.Value) jsontext.Value {
	m := members{}
	m.set("type", typ)
	m.set("object", obj)
	return m.patch()
}

func (protobufFormat) cutter() cutter {
	var head []byte
	left := uint32(0) // bytes of the message, as soon as its length is known
	return func(data []byte) (n int, whole bool) {
		if len(head) < lengthBytes {
			n = min(lengthBytes-len(head), len(data))
			if head = append(head, data[:n]...); len(head) < lengthBytes {
				return n, false
			}
			left = binary.BigEndian.Uint32(head)
		}
		rest := min(uint64(left), uint64(len(data)-n))
		left -= uint32(rest) // at most left
		if left == 0 {
			head = nil
		}
		return n + int(rest), left == 0 // at most len(data)
	}
}

func (protobufFormat) begun(data []byte, list bool) []byte {
	if list {
		return []byte(protobufMagic)
	}
	return bytes.Clone(data[:min(len(data), lengthBytes)])
}

func (protobufFormat) unreadable(message []byte) []byte {
	var e metav1.WatchEvent
	if e.Unmarshal(message) != nil || !slices.Contains(eventTypes, e.Type) {
		return crossedOut(len(message))
	}
	e.Object.Raw = append([]byte(protobufMagic), crossedOut(max(len(e.Object.Raw)-len(protobufMagic), 1))...)
	event, err := e.Marshal()
	if err != nil {
		return crossedOut(len(message)) // unreachable: generated code fails only if a size is wrong
	}
	return event
}

// crossedOut returns a replacement for n bytes that must not stay.
func crossedOut(n int) []byte { return bytes.Repeat([]byte("x"), n) }

// cborFormat is CBOR. It has the same contents as JSON; byte strings are base64 in JSON.
type cborFormat struct{ cbor.Format }

func (cborFormat) name() Encoding { return CBOR }
func (cborFormat) length() int    { return 0 }

func (cborFormat) object(body []byte) (jsontext.Value, error) {
	var content any
	if err := direct.Unmarshal(body, &content); err != nil {
		return nil, err
	}
	return json.Marshal(content, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
}

func (f cborFormat) event(message []byte) (jsontext.Value, error) { return f.object(message) }

// If a body is not CBOR, it cannot be cut any more, so the rest of it is one piece.
func (f cborFormat) cutter() cutter {
	framer := f.NewFramer()
	inside, broken := false, false
	return func(data []byte) (int, bool) {
		if !inside && !broken {
			_, begun, err := framer.Begin(data)
			inside, broken = begun, err != nil
		}
		if !broken {
			n, more, err := framer.Scan(data)
			if err == nil {
				inside = more > 0
				return n, !inside
			}
			broken = true
		}
		return len(data), true
	}
}

const cborTag = "\xd9\xd9\xf7"

func (cborFormat) begun(data []byte, list bool) []byte {
	head := cborTag + "\xa2" // an event has two members
	if list {
		head = cborTag + "\xa4"
	}
	return []byte(head[:min(len(data), len(head))])
}

func (f cborFormat) unreadable(message []byte) []byte {
	text, err := f.object(message)
	if err != nil {
		return bytes.Repeat([]byte{0xff}, len(message)) // which is not an item either
	}
	out := any(string(crossedOut(len(message))))
	if m, ok := open(text); ok {
		if typ, _ := m.take("type"); slices.Contains(eventTypes, typ) {
			out = map[string]any{"type": typ, "object": out}
		}
	}
	encoded, err := direct.Marshal(out)
	if err != nil {
		panic("record: unreachable: strings can be encoded: " + err.Error())
	}
	return append([]byte(cborTag), encoded...)
}
