package listwatch

import (
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/internal/intern"
	"github.com/relist-go/relist/listwatch/internal/wire"
)

// typedDecoder decodes structs. The engine is json/v2, with help for the types of
// apimachinery's ObjectMeta that take most of its time and memory. It belongs to one
// goroutine at a time.
type typedDecoder struct {
	options json.Options
	share   bool // equal managedFields of different objects are one in memory

	fields intern.Cache[metav1.FieldsV1]
	text   intern.Table

	// Most times of an object are the same: it was created, scheduled and started.
	lastTime string
	last     time.Time
}

func newTypedDecoder(share bool) *typedDecoder {
	d := &typedDecoder{share: share}
	d.options = json.JoinOptions(lenient, json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFunc(d.time),
		json.UnmarshalFunc(d.labels),
		json.UnmarshalFunc(d.fieldsV1),
	)))
	return d
}

func (d *typedDecoder) unmarshal(object []byte, into any) error {
	return withoutValue(json.Unmarshal(object, into, d.options))
}

// time reads what metav1.Time reads.
func (d *typedDecoder) time(value []byte, t *metav1.Time) error {
	if d.lastTime != "" && string(value) == d.lastTime {
		t.Time = d.last
		return nil
	}
	if err := t.UnmarshalJSON(value); err != nil {
		return err
	}
	d.lastTime, d.last = string(value), t.Time
	return nil
}

// fieldsV1 reads what metav1.FieldsV1 reads. What a manager owns of an object is the
// same for all that it manages in the same way, and takes a quarter of a Pod.
func (d *typedDecoder) fieldsV1(value []byte, fields *metav1.FieldsV1) error {
	if !d.share {
		return fields.UnmarshalJSON(value)
	}
	known, ok := d.fields.Get(value)
	if !ok {
		if err := known.UnmarshalJSON(value); err != nil {
			return err
		}
		d.fields.Put(value, known)
	}
	*fields = known
	return nil
}

// labels reads a map of strings: labels, annotations, selectors, the data of a
// ConfigMap. Whatever is not as servers write it is left to json.
func (d *typedDecoder) labels(value []byte, labels *map[string]string) error {
	size := 0
	for m := wire.MembersOf(value); m.Next(); size++ {
		if !wire.Plain(m.Value) || !utf8.Valid(m.Name) {
			return json.Unmarshal(value, labels, lenient)
		}
	}
	if value[0] != '{' {
		return json.Unmarshal(value, labels, lenient)
	}
	if *labels == nil { // a name that stands twice adds to what it said first
		*labels = make(map[string]string, size)
	}
	for m := wire.MembersOf(value); m.Next(); {
		(*labels)[d.text.String(m.Name)] = d.text.String(m.Value[1 : len(m.Value)-1])
	}
	return nil
}
