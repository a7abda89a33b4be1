package yaml

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

func null() *Node { return &Node{plain: true, size: 1} }

// class is what a value is, in JSON's words.
type class string

const (
	isNull   class = "null"
	isBool   class = "bool"
	isNumber class = "number"
	isString class = "string"
	isArray  class = "array"
	isObject class = "object"
)

// words without quotes that are not what they look like, in the three spellings that
// YAML 1.1 has for each: lower case, capitalized, upper case.
var (
	nulls  = []string{"", "~", "null", "Null", "NULL"}
	truths = []string{"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}
	lies   = []string{"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}
)

// is returns what n is.
func (n *Node) is() class {
	switch {
	case n.kind == mapping:
		return isObject
	case n.kind == sequence:
		return isArray
	case !n.plain:
		return isString
	case slices.Contains(nulls, n.text):
		return isNull
	case slices.Contains(truths, n.text), slices.Contains(lies, n.text):
		return isBool
	}
	if _, ok := n.number(); ok {
		return isNumber
	}
	return isString
}

// number returns a number as JSON has it: ints in any of YAML's bases, and floats.
func (n *Node) number() (string, bool) {
	if n.text == "" || strings.IndexByte("+-.0123456789", n.text[0]) < 0 {
		return "", false
	}
	if n.text[0] == '.' && strings.Contains(n.text, "_") {
		return "", false
	}
	text := strings.ReplaceAll(n.text, "_", "")
	if i, err := strconv.ParseInt(text, 0, 64); err == nil {
		return strconv.FormatInt(i, 10), true
	}
	if u, err := strconv.ParseUint(text, 0, 64); err == nil {
		return strconv.FormatUint(u, 10), true
	}
	if strings.Trim(text, "+-.0123456789eE") != "" {
		return "", false // hexadecimal, and what is not finite
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return "", false
	}
	return strconv.FormatFloat(f, 'g', -1, 64), true
}

// tagged returns n as a tag says. Those of the core schema are known.
func (n *Node) tagged(tag string) (*Node, error) {
	is := n.is()
	switch tag {
	case "":
		return n, nil
	case "!", "!!str":
		if n.kind == scalar {
			return &Node{text: n.text, size: 1}, nil
		}
	case "!!null":
		if is == isNull {
			return n, nil
		}
	case "!!bool":
		if is == isBool {
			return n, nil
		}
	case "!!int", "!!float":
		if is == isNumber {
			return n, nil
		}
	case "!!seq":
		if is == isArray {
			return n, nil
		}
	case "!!map":
		if is == isObject {
			return n, nil
		}
	}
	return nil, errQuotes
}

var errText = errors.New("a text that JSON cannot have")

// JSON returns n as JSON, with the members of objects by name.
func (n *Node) JSON() (jsontext.Value, error) { return n.appendJSON(nil) }

func (n *Node) appendJSON(b []byte) (_ []byte, err error) {
	switch n.is() {
	case isNull:
		return append(b, "null"...), nil
	case isBool:
		return strconv.AppendBool(b, slices.Contains(truths, n.text)), nil
	case isNumber:
		text, _ := n.number()
		return append(b, text...), nil
	case isString:
		if b, err = jsontext.AppendQuote(b, n.text); err != nil {
			return nil, errText
		}
		return b, nil
	case isArray:
		b = append(b, '[')
		for i, item := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = item.appendJSON(b); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	default:
		b = append(b, '{')
		for i, key := range n.keys() {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = jsontext.AppendQuote(b, key); err != nil {
				return nil, errText
			}
			if b, err = n.get(key).appendJSON(append(b, ':')); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
}

// keys returns those of a mapping, sorted, each once.
func (n *Node) keys() []string {
	keys := make([]string, len(n.pairs))
	for i, m := range n.pairs {
		keys[i] = m.key.text
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
