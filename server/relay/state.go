package relay

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/server/watchcache"
)

// state is one state of one object: the JSON that the upstream sent, and what has to be known of
// it.
type state struct {
	*listwatch.Raw // of the state that came; At leaves it as it is

	body     []byte
	version  uint64
	labels   map[string]string
	fields   *fieldValues
	lead     int  // an object without kind and apiVersion is { and body[lead:]
	metadata span // the value of metadata
	digits   span // the digits of metadata.resourceVersion
}

// span is a part of a body.
type span struct{ from, to int }

// GetResourceVersion implements [object.Object].
func (o *state) GetResourceVersion() string { return string(o.body[o.digits.from:o.digits.to]) }

func (o *state) Version() uint64              { return o.version }
func (o *state) GetLabels() map[string]string { return o.labels }
func (o *state) GetFields() fields.Fields     { return o.fields }

// At implements [watchcache.Object].
func (o *state) At(version uint64) watchcache.Object {
	digits := strconv.FormatUint(version, 10)
	n := *o
	n.version = version
	n.body = append(append(append(make([]byte, 0, len(o.body)+4), o.body[:o.digits.from]...), digits...), o.body[o.digits.to:]...)
	n.digits.to = o.digits.from + len(digits)
	n.metadata.to += len(n.body) - len(o.body)
	return &n
}

// lenient are the rules for what a server has stored: a name may occur twice, and a string need not
// be UTF-8.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// newState reads what has to be known of an object.
func newState(raw *listwatch.Raw, fields *selectable) (*state, error) {
	o := &state{Raw: raw, body: raw.Bytes(), lead: 1, fields: fields.of(raw.GetName(), raw.GetNamespace())}
	dec := jsontext.NewDecoder(bytes.NewBuffer(o.body), lenient...)
	seen, kinds := 0, 0
	_, err := members(dec, func(name string) error {
		seen++
		switch name {
		case "kind", "apiVersion":
			if err := dec.SkipValue(); err != nil {
				return err
			}
			if kinds++; kinds == 2 && seen == 2 {
				end := int(dec.InputOffset())
				o.lead = end + bytes.IndexByte(o.body[end:], ',') + 1
			}
			return nil
		case "metadata":
			return o.readMetadata(dec)
		}
		return fields.read(dec, name, o.fields)
	})
	if err != nil {
		return nil, fmt.Errorf("relay: read %s: %w", raw, err)
	}
	if o.version, err = watchcache.ParseVersion(raw.GetResourceVersion()); err != nil || o.version == 0 {
		return nil, fmt.Errorf("relay: read %s: its resourceVersion is %q, and a relay needs a decimal number", raw, raw.GetResourceVersion())
	}
	return o, nil
}

// checkMetadata returns an error if no client could decode the metadata. The relay knows no types,
// so it cannot check the rest.
func (o *state) checkMetadata() error {
	if err := json.Unmarshal(o.body[o.metadata.from:o.metadata.to], new(metav1.ObjectMeta), lenient...); err != nil {
		return fmt.Errorf("relay: read the metadata of %s: %w", o, err)
	}
	return nil
}

func (o *state) readMetadata(dec *jsontext.Decoder) error {
	start, err := members(dec, func(name string) error {
		switch name {
		case "labels":
			return json.UnmarshalDecode(dec, &o.labels)
		case "resourceVersion":
			value, err := dec.ReadValue()
			if err == nil {
				end := int(dec.InputOffset())
				o.digits = span{end - len(value) + 1, end - 1}
			}
			return err
		}
		return dec.SkipValue()
	})
	o.metadata = span{start, int(dec.InputOffset())}
	return err
}

// members calls visit for each member of the object that comes next, and returns where the object
// begins. visit reads the value.
func members(dec *jsontext.Decoder, visit func(name string) error) (start int, err error) {
	if _, err := dec.ReadToken(); err != nil {
		return 0, err
	}
	start = int(dec.InputOffset()) - 1
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err == nil {
			err = visit(name.String())
		}
		if err != nil {
			return start, err
		}
	}
	_, err = dec.ReadToken()
	return start, err
}
