package protobuf

import (
	"bytes"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/internal/protowire"
	"github.com/relist-go/relist/listwatch/json"
)

// The fields of metav1.WatchEvent, and of the RawExtension that is its object.
const (
	eventType   = 1
	eventObject = 2

	extensionRaw = 1
)

var errNoEvent = errors.New("a watch event needs a type and an object")

// SplitEvent implements [format.Format]. It never guesses, because reading an event
// exactly is cheap.
func (Format) SplitEvent(event []byte, _ bool) (word string, object []byte, err error) {
	typ, object, err := splitEvent(event)
	switch {
	case err != nil:
		err = fmt.Errorf("frame is not a watch event: %w", err)
	case len(typ) == 0 || object == nil:
		err = errNoEvent
	}
	return eventWord(typ), object, err
}

// eventWord returns word as a string. It allocates nothing for the words that it knows.
func eventWord(word []byte) string {
	for _, known := range [...]string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK"} {
		if string(word) == known {
			return known
		}
	}
	return string(word)
}

// splitEvent returns the parts of an event. With an error, it returns the parts before the
// error.
func splitEvent(event []byte) (typ, object []byte, err error) {
	err = protowire.Each(event, func(f protowire.Field) error {
		switch f.Number {
		case eventType:
			typ = f.Bytes
		case eventObject:
			return protowire.Each(f.Bytes, func(f protowire.Field) error {
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

// Status implements [format.Format]. It also reads JSON, because a gateway may write its
// own errors in JSON.
func (Format) Status(object []byte) (status metav1.Status, ok bool) {
	if bytes.HasPrefix(bytes.TrimSpace(object), []byte("{")) {
		return json.Format{}.Status(object)
	}
	status, err := decodeStatus(object)
	return status, err == nil
}

func decodeStatus(object []byte) (status metav1.Status, err error) {
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
