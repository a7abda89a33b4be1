// Package cbor implements CBOR (RFC 8949), which some API servers offer:
//
//	listwatch.Options[*unstructured.Unstructured]{Encoding: cbor.Encoding}
//
// kube-apiserver offers CBOR for every resource, also for custom resources, if its
// feature gate CBORServingAndStorage is on. https://kep.k8s.io/4222
//
// An answer in CBOR has fewer bytes than one in JSON, but reading it costs more: relist's
// JSON decoder is written for objects of Kubernetes, and CBOR has no such decoder here. An
// unstructured object takes more time and more allocations than from JSON, and shares
// nothing with others, not even strings. An object in a struct is converted to JSON first,
// and a list then takes several times the CPU; docs/transports.md has figures. Choose CBOR
// only if bytes on the wire, or the server's CPU, cost you more than your own.
//
// CBOR has its own package, so only programs that import the package contain the code.
package cbor

import (
	"bytes"
	"errors"
	"reflect"

	gojson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/json"
	"github.com/relist-go/relist/transport/frames"
)

// Encoding is CBOR, for listwatch.Options.
var Encoding format.Format = Format{}

// Format is CBOR.
type Format struct{}

// MediaType implements [format.Format].
func (Format) MediaType() string { return "application/cbor" }

// StreamMediaType implements [frames.Format].
func (Format) StreamMediaType() string { return "application/cbor-seq" }

// Text implements [frames.Format].
func (Format) Text() bool { return false }

// NewFramer implements [frames.Format].
func (Format) NewFramer() frames.Framer { return new(framer) }

// Valid implements [format.Format]. It returns true, because the scanner has read every
// byte of an object to find its end.
func (Format) Valid([]byte) bool { return true }

var errNoObject = errors.New("not an object")

// Unmarshaler implements [format.Format]. An unstructured object contains the same values
// as from apimachinery's decoder: whole numbers are int64, other numbers are float64, and
// byte strings are text, in base64 if their tag says so.
//
// For a struct, the object is converted to JSON and then decoded from JSON, because a
// type's tags, its UnmarshalJSON, and its fields of raw JSON, such as RawExtension and
// FieldsV1, are written for JSON. The result is the same as from JSON, and takes several times as
// long. Strings are shared as in JSON, and so are parts if opts.ShareParts is set.
// Unstructured objects share nothing.
func (Format) Unmarshaler(typ reflect.Type, opts format.Options) (func(object []byte, into any) error, error) {
	unmarshal := intoUnstructured
	if typ != reflect.TypeFor[*unstructured.Unstructured]() {
		fromJSON, err := json.Format{}.Unmarshaler(typ, format.Options{ShareParts: opts.ShareParts})
		if err != nil {
			return nil, err
		}
		unmarshal = func(object []byte, into any) error {
			text, err := toJSON(object)
			if err != nil {
				return err
			}
			return fromJSON(text, into)
		}
	}
	if len(opts.Drop) == 0 {
		return unmarshal, nil
	}
	return format.Without(newDrop(opts.Drop).object, unmarshal), nil
}

func intoUnstructured(object []byte, into any) error {
	var content map[string]any
	if err := direct.Unmarshal(object, &content); err != nil {
		return err
	}
	if content == nil {
		return errNoObject
	}
	*into.(**unstructured.Unstructured) = &unstructured.Unstructured{Object: content}
	return nil
}

// toJSON returns the JSON that a server would have sent. In strings that are not UTF-8,
// it replaces the invalid bytes, as servers do in JSON. It sorts the members, so that raw
// JSON in an object, such as FieldsV1, is the same each time.
func toJSON(item []byte) ([]byte, error) {
	var content any
	if err := direct.Unmarshal(item, &content); err != nil {
		return nil, err
	}
	return gojson.Marshal(content, jsontext.AllowInvalidUTF8(true), gojson.Deterministic(true))
}

// Status implements [format.Format]. It also reads JSON, because gateways write their own
// errors in JSON.
func (Format) Status(object []byte) (status metav1.Status, ok bool) {
	if !bytes.HasPrefix(bytes.TrimSpace(object), []byte("{")) {
		var err error
		if object, err = toJSON(object); err != nil {
			return status, false
		}
	}
	return json.Format{}.Status(object)
}
