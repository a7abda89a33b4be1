package tree

import (
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// null reads null, which leaves a zero value what it is.
func (p *parser) null(i int) (int, error) {
	_, end, err := p.word(i, "null", nil)
	return end, err
}

// stringOrNull reads a string; null is the empty one.
func (p *parser) stringOrNull(i int) (string, int, error) {
	switch p.at(i) {
	case 'n':
		end, err := p.null(i)
		return "", end, err
	case '"':
		return p.name(i)
	}
	return "", i, errElsewhere
}

func decodeString(p *parser, i int, v reflect.Value) (int, error) {
	text, end, err := p.stringOrNull(i)
	if err != nil {
		return end, err
	}
	v.SetString(text)
	return end, nil
}

func decodeBool(p *parser, i int, v reflect.Value) (end int, err error) {
	switch p.at(i) {
	case 't':
		_, end, err = p.word(i, "true", nil)
		v.SetBool(true)
	case 'f':
		_, end, err = p.word(i, "false", nil)
	default:
		return p.null(i)
	}
	return end, err
}

func decodeInt(p *parser, i int, v reflect.Value) (int, error) {
	if p.at(i) == 'n' {
		return p.null(i)
	}
	end, whole := numberEnd(p.b, i)
	if end < 0 || !whole {
		return i, errElsewhere
	}
	n, err := strconv.ParseInt(string(p.b[i:end]), 10, 64)
	if err != nil || v.OverflowInt(n) {
		return i, errElsewhere
	}
	v.SetInt(n)
	return end, nil
}

// raw goes over the value at b[i] and returns its bytes, which are JSON.
func (p *parser) raw(i int) (value []byte, end int, err error) {
	end, err = p.skip(i)
	if err != nil {
		return nil, end, err
	}
	return p.b[i:end], end, nil
}

// delegate leaves a value to json/v2.
func delegate(p *parser, i int, v reflect.Value) (int, error) {
	value, end, err := p.raw(i)
	if err != nil {
		return end, err
	}
	return end, json.Unmarshal(value, v.Addr().Interface(), lenient)
}

// lenient is how API servers' JSON is read. See package listwatch.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// decodeMethod decodes a type that has UnmarshalJSON.
func decodeMethod(p *parser, i int, v reflect.Value) (int, error) {
	value, end, err := p.raw(i)
	if err != nil {
		return end, err
	}
	return end, v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(value)
}

// decodeTime is metav1.Time.UnmarshalJSON with a memory. Most times of an object are
// the same: it was created, scheduled and started.
func decodeTime(p *parser, i int, v reflect.Value) (int, error) {
	value, end, err := p.raw(i)
	if err != nil {
		return end, err
	}
	into, known := v.Addr().Interface().(*metav1.Time), p.known
	if known.timeText != "" && string(value) == known.timeText {
		into.Time = known.time
		return end, nil
	}
	if err := into.UnmarshalJSON(value); err != nil {
		return end, err
	}
	known.timeText, known.time = string(value), into.Time
	return end, nil
}

// decodeFieldsV1 is metav1.FieldsV1.UnmarshalJSON with a memory. What a manager owns of
// an object is the same for all that it manages in the same way, and takes a quarter of
// a Pod. Two objects have the same bytes, never the same FieldsV1, which has a setter.
func decodeFieldsV1(p *parser, i int, v reflect.Value) (int, error) {
	into := v.Addr().Interface().(*metav1.FieldsV1)
	if !p.known.share || p.at(i) != '{' {
		return decodeMethod(p, i, v)
	}
	n := p.nodes[0]
	if fields, ok := p.known.fields.Get(p.b[i:n.end]); ok {
		p.nodes = p.nodes[1+n.within:]
		*into = fields
		return n.end, nil
	}
	end, err := decodeMethod(p, i, v)
	if err == nil {
		p.known.fields.Put(p.b[i:end], *into)
	}
	return end, err
}
