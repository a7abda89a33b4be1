package listwatch

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/transport"
)

// SplitEvent implements [Encoding].
func (jsonEncoding) SplitEvent(frame transport.Frame, careful bool) (word string, object []byte, err error) {
	if !careful {
		if typ, object, ok := splitEnvelope(frame.Data); ok {
			return typ.String(), object, nil
		}
	}
	return parseEnvelope(frame)
}

// SplitHead implements [Encoding].
func (jsonEncoding) SplitHead(head []byte) (typ Type, object []byte, ok bool) { return cutType(head) }

// Bookmark implements [Encoding].
func (jsonEncoding) Bookmark(object []byte) (resourceVersion string, initialEventsEnd bool, err error) {
	var partial struct {
		Metadata struct {
			ResourceVersion string            `json:"resourceVersion"`
			Annotations     map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(object, &partial, lenient); err != nil {
		return "", false, withoutValue(err)
	}
	return partial.Metadata.ResourceVersion, partial.Metadata.Annotations[metav1.InitialEventsAnnotationKey] == "true", nil
}

// The envelope as every API server writes it.
const (
	envelopeStart  = `{"type":"`
	envelopeMiddle = `","object":`
)

// splitEnvelope splits {"type":"ADDED","object":{...}} without parsing it: the
// frame is known to be one balanced JSON value, and the object is parsed once,
// by its decoder. Other spellings, and events without an object of the
// resource, are left to parseEnvelope.
func splitEnvelope(frame []byte) (typ Type, object []byte, ok bool) {
	inside, ok := bytes.CutSuffix(bytes.TrimSpace(frame), []byte("}"))
	if !ok {
		return 0, nil, false
	}
	return cutType(inside)
}

// cutType returns what follows the type of a frame.
func cutType(frame []byte) (typ Type, object []byte, ok bool) {
	rest, ok := bytes.CutPrefix(frame, []byte(envelopeStart))
	if !ok {
		return 0, nil, false
	}
	for typ := Added; typ <= Deleted; typ++ {
		if object, ok := bytes.CutPrefix(rest, []byte(typ.String()+envelopeMiddle)); ok {
			return typ, object, true
		}
	}
	return 0, nil, false
}

// parseEnvelope reads an envelope of any spelling and order.
func parseEnvelope(frame transport.Frame) (word string, object []byte, err error) {
	var event struct {
		Type   string         `json:"type"`
		Object jsontext.Value `json:"object"`
	}
	if err := json.Unmarshal(frame.Data, &event, lenient); err != nil {
		return "", nil, fmt.Errorf("%w: frame is not a watch event: %w (%.200q)", errMalformed, withoutValue(err), frame.Redact(frame.Data))
	}
	if event.Type == "" || len(event.Object) == 0 {
		return "", nil, fmt.Errorf("%w: a watch event needs a type and an object (%.200q)", errMalformed, frame.Redact(frame.Data))
	}
	return event.Type, event.Object, nil
}
