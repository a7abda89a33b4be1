package record

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// object holds the parts of an object that are written to a trace.
type object struct {
	namespace, name, version, uid string
	extra                         jsontext.Value // merged over it; nil if the trace has only the identity
}

// key returns the object's key, as in stores.
func (o *object) key() string {
	if o.namespace == "" {
		return o.name
	}
	return o.namespace + "/" + o.name
}

// String returns the object as it is written on a line.
func (o *object) String() string {
	key := o.namespace + "/" + o.name
	if o.namespace == "default" {
		key = o.name
	}
	text := word(key + "@" + o.version)
	if o.uid != "" && o.uid != "uid-"+o.name {
		text += " uid=" + value(o.uid)
	}
	return withJSON(text, o.extra)
}

// size returns a lower bound of the bytes of an event with the object.
func (o *object) size() int {
	least := len(`{"type":"ADDED","object":{"metadata":{"name":"","uid":""}}}`)
	return least + len(o.name) + len(o.namespace) + len(o.uid)
}

// members holds the members of a JSON object; take removes them one by one.
type members map[string]jsontext.Value

// open reads the members of data, if data is a JSON object.
func open(data jsontext.Value) (members, bool) {
	var m members
	if data.Kind() != '{' || json.Unmarshal(data, &m, lenient) != nil {
		return nil, false
	}
	return m, true
}

// lenient holds the rules for reading a server's JSON: a name may occur twice.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// take removes and returns a member, which must be a string if it exists.
func (m members) take(name string) (text string, ok bool) {
	v, there := m[name]
	if !there {
		return "", true
	}
	if v.Kind() != '"' || json.Unmarshal(v, &text, lenient) != nil {
		return "", false
	}
	delete(m, name)
	return text, true
}

// set sets a member to a value that can be encoded.
func (m members) set(name string, v any) {
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("record: unreachable: strings, numbers and objects of JSON can be encoded: " + err.Error())
	}
	m[name] = data
}

// patch returns the members that are left as JSON for a line, or nil if there
// are none.
func (m members) patch() jsontext.Value {
	if len(m) == 0 {
		return nil
	}
	data, err := json.Marshal(m, json.Deterministic(true), lenient)
	if err != nil {
		panic("record: unreachable: members of JSON can be encoded: " + err.Error())
	}
	v := jsontext.Value(data)
	if err := v.Compact(lenient); err != nil || strings.ContainsAny(string(v), "\n\r") {
		panic("record: unreachable: compact JSON has no line ends")
	}
	return v
}
