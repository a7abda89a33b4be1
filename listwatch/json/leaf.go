package json

import (
	"bytes"
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
func (p *parser) null(i int) int { return p.exactly(i, "null") }

// exactly reads a word.
func (p *parser) exactly(i int, word string) int {
	if end := i + len(word); end <= len(p.b) && string(p.b[i:end]) == word {
		return end
	}
	return elsewhere
}

// stringOrNull reads a string, or null as the empty string.
func (p *parser) stringOrNull(i int) (string, int) {
	if p.at(i) != '"' {
		return "", p.null(i)
	}
	text, end, err := p.name(i)
	if err != nil {
		return "", elsewhere
	}
	return text, end
}

func decodeString(p *parser, i int, at unsafe.Pointer) (end int) {
	*(*string)(at), end = p.stringOrNull(i)
	return end
}

func decodeBool(p *parser, i int, at unsafe.Pointer) int {
	switch p.at(i) {
	case 't':
		*(*bool)(at) = true
		return p.exactly(i, "true")
	case 'f':
		return p.exactly(i, "false")
	}
	return p.null(i)
}

func numberDecoder(typ reflect.Type) decoder {
	bits := typ.Bits()
	return func(p *parser, i int, at unsafe.Pointer) int {
		if p.at(i) == 'n' {
			return p.null(i)
		}
		end, whole := numberEnd(p.b, i)
		into := reflect.NewAt(typ, at).Elem()
		if end < 0 || !whole && !into.CanFloat() {
			return elsewhere
		}
		text := string(p.b[i:end])
		var err error
		switch {
		case into.CanInt():
			var n int64
			n, err = strconv.ParseInt(text, 10, bits)
			into.SetInt(n)
		case into.CanUint():
			var n uint64
			n, err = strconv.ParseUint(text, 10, bits)
			into.SetUint(n)
		default:
			var n float64
			n, err = strconv.ParseFloat(text, bits)
			into.SetFloat(n)
		}
		if err != nil {
			return elsewhere
		}
		return end
	}
}

// bytesDecoder decodes base64. It leaves an array of numbers, and a string with escapes, to
// apimachinery's decoder.
func bytesDecoder(typ reflect.Type) decoder {
	others := delegate(typ)
	return func(p *parser, i int, at unsafe.Pointer) int {
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
			return elsewhere
		}
		*(*[]byte)(at) = made[:n:n]
		return end + 1
	}
}

// decodeAny decodes into an interface without methods, as a treeDecoder does.
func decodeAny(p *parser, i int, at unsafe.Pointer) int {
	value, end, err := p.value(i)
	if err != nil {
		return elsewhere
	}
	*(*any)(at) = value
	return end
}

// delegate leaves a value to apimachinery's decoder.
func delegate(typ reflect.Type) decoder {
	return func(p *parser, i int, at unsafe.Pointer) int {
		p.known.caching = true // the value may contain anything
		end := p.skip(i)
		if end < 0 || utiljson.Unmarshal(p.b[i:end], reflect.NewAt(typ, at).Interface()) != nil {
			return elsewhere
		}
		return end
	}
}

// decodeElsewhere leaves the whole object to apimachinery's decoder.
func decodeElsewhere(*parser, int, unsafe.Pointer) int { return elsewhere }

// methodDecoder decodes a type that has UnmarshalJSON.
func methodDecoder(typ reflect.Type) decoder {
	caching := mayCache(typ)
	return func(p *parser, i int, at unsafe.Pointer) int {
		p.known.caching = p.known.caching || caching
		return p.method(i, reflect.NewAt(typ, at).Interface().(json.Unmarshaler))
	}
}

func (p *parser) method(i int, into json.Unmarshaler) int {
	end := p.skip(i)
	if end < 0 || into.UnmarshalJSON(p.b[i:end]) != nil {
		return elsewhere
	}
	return end
}

// decodeTime does what metav1.Time.UnmarshalJSON does, and remembers the last time. Most
// times in an object are the same: it was created, scheduled and started in one second.
func decodeTime(p *parser, i int, at unsafe.Pointer) int {
	into, known := (*metav1.Time)(at), p.known
	if len(known.timeText) > 0 && bytes.HasPrefix(p.b[i:], known.timeText) {
		into.Time = known.time
		return i + len(known.timeText)
	}
	end := p.skip(i)
	if end < 0 {
		return elsewhere
	}
	value := p.b[i:end]
	if quote := plainEnd(value, 1); value[0] == '"' && quote == len(value)-1 {
		parsed, err := time.Parse(time.RFC3339, string(value[1:quote])) // as UnmarshalJSON does, but without a decoder for the string
		if err != nil {
			return elsewhere
		}
		into.Time = parsed.Local()
	} else if into.UnmarshalJSON(value) != nil {
		return elsewhere
	}
	known.timeText, known.time = append(known.timeText[:0], value...), into.Time
	return end
}

// decodePort does what intstr.IntOrString.UnmarshalJSON does, without a decoder for the
// number or the string.
func decodePort(p *parser, i int, at unsafe.Pointer) int {
	into := (*intstr.IntOrString)(at)
	if p.at(i) == '"' {
		text, end := p.stringOrNull(i)
		*into = intstr.FromString(text)
		return end
	}
	end, whole := numberEnd(p.b, i)
	if end < 0 || !whole {
		return p.method(i, into)
	}
	n, err := strconv.ParseInt(string(p.b[i:end]), 10, 32)
	if err != nil {
		return elsewhere
	}
	*into = intstr.FromInt32(int32(n)) // ParseInt has checked the size
	return end
}

// decodeFieldsV1 does what metav1.FieldsV1.UnmarshalJSON does, and remembers the result. A
// manager owns the same fields of all objects that it manages in the same way, and these
// fields are a quarter of a Pod's bytes.
func decodeFieldsV1(p *parser, i int, at unsafe.Pointer) int {
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
			return n.end
		}
	}
	fields := new(metav1.FieldsV1)
	end := p.method(i, fields)
	if end < 0 {
		return elsewhere
	}
	*(**metav1.FieldsV1)(at) = fields
	if text != nil {
		p.known.fields.Put(text, fields)
	}
	return end
}
