package apitest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// A revision is one state of one object, encoded once and never changed afterwards: every list, every watch and every
// replica writes the same bytes.
//
// body is the JSON of the object without its opening brace, kind and apiVersion, metadata first:
//
//	"metadata":{"name":"a",...,"resourceVersion":"7"},"data":{"v":"1"}}
//
// so that what goes before it can differ: a list item of a built-in type has nothing more than the brace, a watch event
// has kind and apiVersion, and PartialObjectMetadata is body[:meta] with other words around it.
type revision struct {
	key       string // "namespace/name", or "name"
	namespace string
	name      string
	uid       string
	created   string // creationTimestamp as it stands in the body
	rv        uint64
	deleted   bool // a tombstone: body is the last state, with the resourceVersion of the deletion

	body    []byte
	meta    int // end of the metadata member in body
	version int // where the digits of resourceVersion begin in body

	labels labels.Set
	fields fields.Set

	messages *protobufMessages // of these bytes; never nil
}

// metadataOrder is the order in which kube-apiserver writes the metadata of a built-in type; what is not named here
// follows, sorted.
var metadataOrder = []string{
	"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
	"deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers",
}

// newRevision encodes obj, whose metadata must be complete but for the resourceVersion.
// It does not keep or change obj.
func newRevision(res *Resource, obj map[string]any, rv uint64) (*revision, error) {
	meta, _ := obj["metadata"].(map[string]any)
	r := &revision{
		namespace: str(meta, "namespace"),
		name:      str(meta, "name"),
		uid:       str(meta, "uid"),
		created:   str(meta, "creationTimestamp"),
		rv:        rv,
		labels:    stringMap(meta["labels"]),
		messages:  new(protobufMessages),
	}
	r.key = objectKey(r.namespace, r.name)
	r.fields = selectableFields(res, r, obj)

	b := []byte(`"metadata":{`)
	first := true
	member := func(name string, v any) error {
		if !first {
			b = append(b, ',')
		}
		first = false
		var err error
		if b, err = appendJSON(b, name); err != nil {
			return err
		}
		b = append(b, ':')
		if name == "resourceVersion" {
			b = append(b, '"')
			r.version = len(b)
			b = append(strconv.AppendUint(b, rv, 10), '"')
			return nil
		}
		b, err = appendJSON(b, v)
		return err
	}
	for _, name := range orderedKeys(meta, metadataOrder) {
		if isEmpty(meta[name]) {
			continue // as the Go types of kube-apiserver do: omitempty
		}
		if err := member(name, meta[name]); err != nil {
			return nil, fmt.Errorf("encode metadata.%s of %s %s: %w", name, res.ID(), r.key, err)
		}
	}
	b = append(b, '}')
	r.meta = len(b)
	first = false
	for _, name := range orderedKeys(obj, nil) {
		if name == "kind" || name == "apiVersion" || name == "metadata" || obj[name] == nil {
			continue
		}
		if err := member(name, obj[name]); err != nil {
			return nil, fmt.Errorf("encode %s of %s %s: %w", name, res.ID(), r.key, err)
		}
	}
	b = append(b, '}')
	r.body = b
	return r, nil
}

// at returns the same state under another resourceVersion: a deletion and an object that left a selector carry the last
// state with the version of the change that took it away.
func (r *revision) at(rv uint64) *revision {
	old := decimalLen(r.rv)
	b := make([]byte, 0, len(r.body)+20)
	b = append(b, r.body[:r.version]...)
	b = strconv.AppendUint(b, rv, 10)
	b = append(b, r.body[r.version+old:]...)
	n := *r
	n.rv, n.body, n.messages = rv, b, new(protobufMessages)
	n.meta += decimalLen(rv) - old
	return &n
}

// decode returns a fresh map of the object, with kind and apiVersion.
func (r *revision) decode(res *Resource) (map[string]any, error) {
	obj, err := decodeObject(append([]byte{'{'}, r.body...))
	if err != nil {
		return nil, fmt.Errorf("decode stored %s %s: %w", res.ID(), r.key, err)
	}
	obj["kind"], obj["apiVersion"] = res.Kind, res.apiVersion()
	return obj, nil
}

func objectKey(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func decimalLen(n uint64) int { return len(strconv.FormatUint(n, 10)) }

// orderedKeys returns the keys of m: those in order first, then the others, sorted.
func orderedKeys(m map[string]any, order []string) []string {
	keys := make([]string, 0, len(m))
	for _, k := range order {
		if _, ok := m[k]; ok {
			keys = append(keys, k)
		}
	}
	rest := slices.Sorted(maps.Keys(m))
	return append(keys, slices.DeleteFunc(rest, func(k string) bool { return slices.Contains(order, k) })...)
}

// isEmpty is true for null and for an object or a list without members.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case map[string]string:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// appendJSON writes v as kube-apiserver does: keys sorted, <, > and & escaped.
func appendJSON(b []byte, v any) ([]byte, error) {
	enc, err := json.Marshal(v, json.Deterministic(true), jsontext.EscapeForHTML(true), jsontext.EscapeForJS(true))
	return append(b, enc...), err
}

// decodeObject reads one JSON object; whole numbers become int64, so that they survive being written again.
func decodeObject(data []byte) (map[string]any, error) {
	var obj map[string]any
	if err := json.Unmarshal(data, &obj, json.WithUnmarshalers(wholeNumbers)); err != nil {
		return nil, err
	}
	if obj == nil {
		return nil, fmt.Errorf("want a JSON object, have null")
	}
	return obj, nil
}

var wholeNumbers = json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		*v = n
		return nil
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	*v = f
	return err
})

// str returns a string member of m, or "" when it is absent or something else.
func str(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

func stringMap(v any) map[string]string {
	switch m := v.(type) {
	case map[string]string:
		return maps.Clone(m)
	case map[string]any:
		out := make(map[string]string, len(m))
		for k, v := range m {
			if s, ok := v.(string); ok {
				out[k] = s
			}
		}
		return out
	}
	return nil
}

// lookup follows a dotted path: "spec.nodeName".
func lookup(obj map[string]any, path string) any {
	var v any = obj
	for _, name := range strings.Split(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}
