package record

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// object is what a trace has of an object.
type object struct {
	namespace, name, version, uid string
	extra                         jsontext.Value // merged over it; nil if there is no more to say
}

// key is the object's key, as stores have it.
func (o *object) key() string {
	if o.namespace == "" {
		return o.name
	}
	return o.namespace + "/" + o.name
}

// String is the object as it stands on a line.
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

// size is a number of bytes that an event with the object has at least.
func (o *object) size() int {
	least := len(`{"type":"ADDED","object":{"metadata":{"name":"","uid":""}}}`)
	return least + len(o.name) + len(o.namespace) + len(o.uid)
}

// members is a JSON object that is being taken apart.
type members map[string]jsontext.Value

// open reads the members of data if it is an object.
func open(data jsontext.Value) (members, bool) {
	var m members
	if data.Kind() != '{' || json.Unmarshal(data, &m, lenient) != nil {
		return nil, false
	}
	return m, true
}

// lenient is how servers' JSON is read: a name may stand twice.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// take removes a member that must be a string if it is there.
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

// set puts a value that can be encoded.
func (m members) set(name string, v any) {
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("record: unreachable: strings, numbers and objects of JSON can be encoded: " + err.Error())
	}
	m[name] = data
}

// patch is what is left, as the JSON of a line; nil if nothing is.
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
