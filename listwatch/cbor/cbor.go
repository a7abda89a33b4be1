// Package cbor implements CBOR (RFC 8949), which some API servers offer:
//
//	listwatch.Options[*unstructured.Unstructured]{Encoding: cbor.Encoding}
//
// kube-apiserver offers CBOR for every resource, also for custom resources, if its
// feature gate CBORServingAndStorage is on. https://kep.k8s.io/4222
//
// Everything is converted to JSON as it arrives, because a type's tags, its UnmarshalJSON,
// and its fields of raw JSON, such as RawExtension and FieldsV1, are written for JSON. The
// result is the one from JSON, and package json does the rest: it decodes, shares equal
// parts, drops members, and refuses what is nested too deeply.
//
// An answer in CBOR has fewer bytes than one in JSON, but takes more CPU, for the
// conversion; docs/transports.md has figures. Choose CBOR only if bytes on the wire, or the
// server's CPU, cost you more than your own.
//
// CBOR has its own package, so only programs that import the package contain the code.
package cbor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/internal/intern"
	"github.com/relist-go/relist/listwatch/internal/wire"
	"github.com/relist-go/relist/listwatch/json"
	"github.com/relist-go/relist/transport/frames"
)

// Encoding is CBOR, for listwatch.Options.
var Encoding format.Format = cborFormat{}

// cborFormat is CBOR. Its bookmarks are JSON, because SplitEvent has converted them.
type cborFormat struct{ json.Format }

// MediaType implements [format.Format].
func (cborFormat) MediaType() string { return "application/cbor" }

// StreamMediaType implements [frames.Format].
func (cborFormat) StreamMediaType() string { return "application/cbor-seq" }

// Text implements [frames.Format].
func (cborFormat) Text() bool { return false }

// NewFramer implements [frames.Format].
func (cborFormat) NewFramer() frames.Framer { return new(framer) }

// asJSON converts an object, an event or a list to JSON. Other bytes it returns as they are:
// ReadList and SplitEvent have converted an object already, and gateways write their own
// errors in JSON. No JSON begins as a map does. With an error, asJSON returns the JSON of
// what comes before it.
func asJSON(object []byte) ([]byte, error) {
	if len(object) == 0 || object[0]>>5 != majorMap && object[0]>>5 != majorTag {
		return object, nil
	}
	s := scanners.Get()
	s.reset()
	n, err := s.scan(object)
	switch {
	case err != nil:
		err = fmt.Errorf("%w, at byte %d", err, n)
	case !s.whole():
		err = io.ErrUnexpectedEOF
	case n < len(object):
		err = fmt.Errorf("more follows its end, at byte %d", n)
	}
	text := bytes.Clone(s.json.out)
	s.json.reset()
	scanners.Put(s)
	return text, err
}

var scanners = intern.Pool[scanner]{New: func() *scanner { return &scanner{json: new(writer)} }}

var errNoEvent = errors.New("a watch event needs a type and an object")

// SplitEvent implements [format.Format]. The object is JSON.
func (cborFormat) SplitEvent(event []byte, _ bool) (word string, object []byte, err error) {
	text, err := asJSON(event)
	if err != nil {
		word, object, _ = json.Format{}.SplitEvent(text, false) // the parts that can be read
		return word, object, fmt.Errorf("frame is not a watch event: %w", err)
	}
	for m := wire.MembersOf(text); m.Next(); {
		switch string(m.Name) {
		case "type":
			if m.Value[0] == '"' {
				word = string(m.Text())
			}
		case "object":
			object = m.Value
		}
	}
	if word == "" || len(object) == 0 {
		err = errNoEvent
	}
	return word, object, err
}

// Valid implements [format.Format].
func (cborFormat) Valid(object []byte) bool {
	text, err := asJSON(object)
	return err == nil && json.Format{}.Valid(text)
}

// Kind implements [format.Format].
func (cborFormat) Kind(object []byte, item bool) []byte {
	text, _ := asJSON(object)
	return json.Format{}.Kind(text, item)
}

// Identify implements [format.Format].
func (cborFormat) Identify(object []byte) format.Identity {
	text, _ := asJSON(object)
	return json.Format{}.Identify(text)
}

// Status implements [format.Format].
func (cborFormat) Status(object []byte) (status metav1.Status, ok bool) {
	text, err := asJSON(object)
	if err != nil {
		return status, false
	}
	return json.Format{}.Status(text)
}

// Unmarshaler implements [format.Format]. It accepts every type.
func (cborFormat) Unmarshaler(typ reflect.Type, opts format.Options) (func(object []byte, into any) error, error) {
	unmarshal, err := json.Format{}.Unmarshaler(typ, opts)
	if err != nil {
		return nil, err
	}
	return func(object []byte, into any) error {
		text, err := asJSON(object)
		if err != nil {
			return err
		}
		return unmarshal(text, into)
	}, nil
}
