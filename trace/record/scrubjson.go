package record

import (
	"regexp"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// json replaces the strings of a value, and the keys that a user chose. name is
// that of the member it stands in.
func (s *scrubber) json(name string, v jsontext.Value) jsontext.Value {
	switch v.Kind() {
	case '{':
		return s.members(name, v)
	case '[':
		var values []jsontext.Value
		if json.Unmarshal(v, &values, lenient) != nil {
			return jsontext.Value("null") // unreachable: it is an array
		}
		for i := range values {
			values[i] = s.json(name, values[i])
		}
		m := members{}
		m.set("", values)
		return m[""]
	case '"':
		var text string
		if json.Unmarshal(v, &text, lenient) != nil {
			return jsontext.Value(`""`) // unreachable: it is a string
		}
		m := members{}
		m.set("", s.text(name, text))
		return m[""]
	default:
		return v // no value, a number, true, false, null
	}
}

// userMaps are the members whose keys are a user's.
var userMaps = []string{
	"labels", "annotations", "data", "binaryData", "stringData", "matchLabels", "nodeSelector", "selector", "parameters",
}

// fieldName is how the API's own fields are called.
var fieldName = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)

func (s *scrubber) members(name string, v jsontext.Value) jsontext.Value {
	m, ok := open(v)
	if !ok {
		return jsontext.Value("{}") // unreachable: it is an object
	}
	keys := make([]string, 0, len(m))
	for key := range m { // in any order: sorted next
		keys = append(keys, key)
	}
	slices.Sort(keys)
	user := slices.Contains(userMaps, name)
	out := members{}
	for _, key := range keys {
		switch {
		case key == "managedFields":
			// It repeats every key of the object, and is of no use to a client.
		case key == metav1.InitialEventsAnnotationKey:
			out[key] = m[key]
		case user || !fieldName.MatchString(key):
			// What stands in a map of a user's is a user's too, whatever it is called.
			out[s.pseudonym("key", key)] = s.json("", m[key])
		default:
			out[key] = s.json(key, m[key])
		}
	}
	if len(out) == 0 {
		return jsontext.Value("{}")
	}
	return out.patch()
}

// text replaces a string of the member name.
func (s *scrubber) text(name, text string) string {
	switch name {
	case "kind", "apiVersion", "resourceVersion":
		return text
	case "continue":
		return s.token(text)
	case "message":
		return s.message(text)
	case "reason":
		return s.reason(text)
	case "type":
		if slices.Contains([]string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"}, text) {
			return text
		}
	case "status":
		if text == metav1.StatusFailure || text == metav1.StatusSuccess {
			return text
		}
	case "creationTimestamp", "deletionTimestamp", "time":
		if _, err := time.Parse(time.RFC3339, text); err == nil {
			return text
		}
	case "name":
		return s.nameOr(s.names, text)
	case "namespace":
		return s.nameOr(s.namespaces, text)
	case "uid":
		return s.nameOr(s.uids, text)
	}
	return s.pseudonym("value", text)
}
