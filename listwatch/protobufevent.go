package listwatch

import (
	"bytes"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/internal/protowire"
	"github.com/relist-go/relist/transport"
)

// The fields of metav1.WatchEvent, and of the RawExtension that is its object.
const (
	eventType   = 1
	eventObject = 2

	extensionRaw = 1
)

// SplitEvent implements [Encoding]. There is nothing to guess: it is cheap.
func (protobufEncoding) SplitEvent(frame transport.Frame, _ bool) (word string, object []byte, err error) {
	typ, object, err := splitProtobufEvent(frame.Data)
	if err != nil {
		return "", nil, fmt.Errorf("%w: frame is not a watch event: %w", errMalformed, err)
	}
	if len(typ) == 0 || object == nil {
		return "", nil, fmt.Errorf("%w: a watch event needs a type and an object", errMalformed)
	}
	return eventWord(typ), object, nil
}

// eventWord returns the word without a copy if it is a known one.
func eventWord(word []byte) string {
	if typ, ok := parseType(string(word)); ok {
		return typ.String()
	}
	return string(word)
}

// SplitHead implements [Encoding].
func (protobufEncoding) SplitHead(head []byte) (typ Type, object []byte, ok bool) {
	word, object, _ := splitProtobufEvent(head) // it was cut off, so that an error is no news
	typ, ok = parseType(string(word))
	if typ == Bookmark || object == nil {
		return 0, nil, false
	}
	return typ, object, ok
}

// splitProtobufEvent returns the parts of an event; with an error, as far as they came.
func splitProtobufEvent(event []byte) (typ, object []byte, err error) {
	err = eachField(event, func(f protowire.Field) error {
		switch f.Number {
		case eventType:
			typ = f.Bytes
		case eventObject:
			return eachField(f.Bytes, func(f protowire.Field) error {
				if f.Number == extensionRaw {
					object = f.Bytes
				}
				return nil
			})
		}
		return nil
	})
	return typ, object, err
}

// Status implements [Encoding]. A gateway that makes up an error of its own may do so
// in JSON.
func (protobufEncoding) Status(object []byte) (status metav1.Status, ok bool) {
	if bytes.HasPrefix(bytes.TrimSpace(object), []byte("{")) {
		return JSON.Status(object)
	}
	status, err := decodeProtobufStatus(object)
	return status, err == nil
}

func decodeProtobufStatus(object []byte) (status metav1.Status, err error) {
	e, err := openEnvelope(object)
	if err != nil {
		return status, err
	}
	if len(e.kind) > 0 && string(e.kind) != "Status" {
		return status, errors.New("not a Status")
	}
	if err := status.Unmarshal(e.raw); err != nil {
		return status, generated(err)
	}
	status.APIVersion, status.Kind = string(e.apiVersion), string(e.kind)
	return status, nil
}
