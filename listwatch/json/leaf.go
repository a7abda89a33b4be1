package json

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strconv"
	"time"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// null reads null, which leaves a zero value unchanged.
func (p *parser) null(i int) (int, error) {
	_, end, err := p.word(i, "null", nil)
	return end, err
}

// stringOrNull reads a string, or null as the empty string.
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

func decodeString(p *parser, i int, at unsafe.Pointer) (int, error) {
	text, end, err := p.stringOrNull(i)
	if err != nil {
		return end, err
	}
	*(*string)(at) = text
	return end, nil
}

func decodeBool(p *parser, i int, at unsafe.Pointer) (end int, err error) {
	switch p.at(i) {
	case 't':
		_, end, err = p.word(i, "true", nil)
		*(*bool)(at) = true
	case 'f':
		_, end, err = p.word(i, "false", nil)
	default:
		return p.null(i)
	}
	return end, err
}

// reflected decodes what is rare, or small beside a reflect.Value.
func reflected(typ reflect.Type, decode func(*parser, int, reflect.Value) (int, error)) decoder {
	return func(p *parser, i int, at unsafe.Pointer) (int, error) {
		return decode(p, i, reflect.NewAt(typ, at).Elem())
	}
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

func decodeUint(p *parser, i int, v reflect.Value) (int, error) {
	if p.at(i) == 'n' {
		return p.null(i)
	}
	end, whole := numberEnd(p.b, i)
	if end < 0 || !whole {
		return i, errElsewhere
	}
	n, err := strconv.ParseUint(string(p.b[i:end]), 10, 64)
	if err != nil || v.OverflowUint(n) {
		return i, errElsewhere
	}
	v.SetUint(n)
	return end, nil
}

func decodeFloat(p *parser, i int, v reflect.Value) (int, error) {
	if p.at(i) == 'n' {
		return p.null(i)
	}
	end, _ := numberEnd(p.b, i)
	if end < 0 {
		return i, errElsewhere
	}
	n, err := strconv.ParseFloat(string(p.b[i:end]), v.Type().Bits())
	if err != nil || v.OverflowFloat(n) {
		return i, errElsewhere
	}
	v.SetFloat(n)
	return end, nil
}

// bytesDecoder decodes base64. It leaves an array of numbers, and a string with escapes, to
// apimachinery's decoder.
func bytesDecoder(typ reflect.Type) decoder {
	others := delegate(typ)
	return func(p *parser, i int, at unsafe.Pointer) (int, error) {
		if p.at(i) == 'n' {
			return p.null(i)
		}
		end := -1
		if p.at(i) == '"' {
			end = plainEnd(p.b, i+1)
		}
		if end < 0 {
			return others(p, i, at)
		}
		text := p.b[i+1 : end]
		made := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
		n, err := base64.StdEncoding.Decode(made, text)
		if err != nil {
			return i, errElsewhere
		}
		*(*[]byte)(at) = made[:n]
		return end + 1, nil
	}
}

// decodeAny decodes into an interface without methods, as a treeDecoder does.
func decodeAny(p *parser, i int, at unsafe.Pointer) (end int, err error) {
	*(*any)(at), end, err = p.value(i)
	return end, err
}

// raw checks that the value at b[i] is JSON, and returns its bytes.
func (p *parser) raw(i int) (value []byte, end int, err error) {
	end, err = p.skip(i)
	if err != nil {
		return nil, end, err
	}
	return p.b[i:end], end, nil
}

// delegate leaves a value to apimachinery's decoder.
func delegate(typ reflect.Type) decoder {
	return func(p *parser, i int, at unsafe.Pointer) (int, error) {
		p.known.caching = true // the value may contain anything
		value, end, err := p.raw(i)
		if err != nil {
			return end, err
		}
		return end, utiljson.Unmarshal(value, reflect.NewAt(typ, at).Interface())
	}
}

// decodeElsewhere leaves the whole object to apimachinery's decoder.
func decodeElsewhere(_ *parser, i int, _ unsafe.Pointer) (int, error) { return i, errElsewhere }

// methodDecoder decodes a type that has UnmarshalJSON.
func methodDecoder(typ reflect.Type) decoder {
	caching := mayCache(typ)
	return func(p *parser, i int, at unsafe.Pointer) (int, error) {
		p.known.caching = p.known.caching || caching
		return p.method(i, reflect.NewAt(typ, at).Interface().(json.Unmarshaler))
	}
}

func (p *parser) method(i int, into json.Unmarshaler) (int, error) {
	value, end, err := p.raw(i)
	if err != nil {
		return end, err
	}
	return end, into.UnmarshalJSON(value)
}

// decodeTime does what metav1.Time.UnmarshalJSON does, and remembers the last time. Most
// times in an object are the same: it was created, scheduled and started in one second.
func decodeTime(p *parser, i int, at unsafe.Pointer) (int, error) {
	value, end, err := p.raw(i)
	if err != nil {
		return end, err
	}
	into, known := (*metav1.Time)(at), p.known
	if known.timeText != "" && string(value) == known.timeText {
		into.Time = known.time
		return end, nil
	}
	if quote := plainEnd(value, 1); value[0] == '"' && quote == len(value)-1 {
		parsed, err := time.Parse(time.RFC3339, string(value[1:quote])) // as UnmarshalJSON does, but without a decoder for the string
		if err != nil {
			return i, errElsewhere
		}
		into.Time = parsed.Local()
	} else if err := into.UnmarshalJSON(value); err != nil {
		return end, err
	}
	known.timeText, known.time = string(value), into.Time
	return end, nil
}

// decodePort does what intstr.IntOrString.UnmarshalJSON does, without a decoder for the
// number or the string.
func decodePort(p *parser, i int, at unsafe.Pointer) (int, error) {
	into := (*intstr.IntOrString)(at)
	if p.at(i) == '"' {
		text, end, err := p.name(i)
		if err == nil {
			*into = intstr.FromString(text)
		}
		return end, err
	}
	end, whole := numberEnd(p.b, i)
	if end < 0 || !whole {
		return p.method(i, into)
	}
	n, err := strconv.ParseInt(string(p.b[i:end]), 10, 32)
	if err != nil {
		return i, errElsewhere
	}
	*into = intstr.FromInt32(int32(n)) // ParseInt has checked the size
	return end, nil
}

// decodeFieldsV1 does what metav1.FieldsV1.UnmarshalJSON does, and remembers the result. A
// manager owns the same fields of all objects that it manages in the same way, and these
// fields are a quarter of a Pod's bytes.
func decodeFieldsV1(p *parser, i int, at unsafe.Pointer) (int, error) {
	if p.at(i) == 'n' {
		return p.null(i)
	}
	var text []byte
	if p.known.managed && p.at(i) == '{' {
		n := p.nodes[0]
		text = p.b[i:n.end]
		if fields, ok := p.known.fields.Get(text); ok {
			p.nodes = p.nodes[1+n.within:]
			*(**metav1.FieldsV1)(at) = fields
			return n.end, nil
		}
	}
	fields := new(metav1.FieldsV1)
	end, err := p.method(i, fields)
	if err != nil {
		return end, err
	}
	*(**metav1.FieldsV1)(at) = fields
	if text != nil {
		p.known.fields.Put(text, fields)
	}
	return end, nil
}
