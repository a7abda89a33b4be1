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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/relist-go/relist/server/watchcache"
)

// A revision is one state of one object. It is encoded once and never changes, so all lists,
// watches and replicas write the same bytes.
//
// body is the JSON of the object without the opening brace, kind and apiVersion. The metadata comes
// first:
//
//	"metadata":{"name":"a",...,"resourceVersion":"7"},"data":{"v":"1"}}
//
// So the bytes before body can differ. An item of a built-in type in a list has only the brace, and
// the object of a watch event has kind and apiVersion. PartialObjectMetadata is body[:meta] with
// other bytes around it.
type revision struct {
	key       string // "namespace/name", or "name"
	namespace string
	name      string
	uid       string
	created   string // creationTimestamp, as it is in body
	rv        uint64
	deleted   bool // it is a tombstone: body is the last state, with the resourceVersion of the deletion
	tracked   bool // the object was applied, so the owners of its fields are in managedFields

	body    []byte
	meta    int // the metadata is body[:meta]
	version int // the digits of resourceVersion begin at body[version]

	labels labels.Set
	fields fields.Set

	messages *protobufMessages // of these bytes; never nil
}

// metadataOrder is the order in which kube-apiserver writes the metadata of a built-in type. Other
// members follow, sorted.
var metadataOrder = []string{
	"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
	"deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers",
}

// newRevision encodes obj with the resourceVersion rv. The rest of the metadata must be complete.
// newRevision does not keep or change obj.
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
			continue // kube-apiserver leaves out an empty member, because its Go types have omitempty
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

// at returns the same state with another resourceVersion. DELETED events need it: they have the
// last state of the object, and the version of the change that deleted it or took it out of the
// selection.
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

// decode returns a new map of the object, with kind and apiVersion.
func (r *revision) decode(res *Resource) (map[string]any, error) {
	obj, err := decodeObject(append([]byte{'{'}, r.body...))
	if err != nil {
		return nil, fmt.Errorf("decode stored %s %s: %w", res.ID(), r.key, err)
	}
	obj["kind"], obj["apiVersion"] = res.Kind, res.apiVersion()
	return obj, nil
}

// The methods below implement [watchcache.Object].

func (r *revision) GetNamespace() string         { return r.namespace }
func (r *revision) GetName() string              { return r.name }
func (r *revision) GetUID() types.UID            { return types.UID(r.uid) }
func (r *revision) GetResourceVersion() string   { return formatRV(r.rv) }
func (r *revision) GetLabels() map[string]string { return r.labels }
func (r *revision) GetFields() fields.Fields     { return r.fields }
func (r *revision) Version() uint64              { return r.rv }

func (r *revision) At(rv uint64) watchcache.Object { return r.at(rv) }

func objectKey(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func decimalLen(n uint64) int { return len(strconv.FormatUint(n, 10)) }

// orderedKeys returns the keys of m. Keys in order come first, and the others follow, sorted.
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

// isEmpty reports whether v is null, or an object or a list without members.
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

// appendJSON appends v as kube-apiserver writes it: keys are sorted, and <, > and & are escaped.
func appendJSON(b []byte, v any) ([]byte, error) {
	enc, err := json.Marshal(v, json.Deterministic(true), jsontext.EscapeForHTML(true), jsontext.EscapeForJS(true))
	return append(b, enc...), err
}

// decodeObject reads one JSON object. Whole numbers become int64, because a float64 would not keep
// all digits.
func decodeObject(data []byte) (obj map[string]any, err error) {
	if err := utiljson.Unmarshal(data, &obj); err != nil {
		return nil, err
	}
	if obj == nil {
		return nil, errors.New("want a JSON object, have null")
	}
	return obj, nil
}

// str returns a string member of m. It returns "" if the member is absent or no string.
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

// lookup returns the member of obj at a path: "spec.nodeName".
func lookup(obj map[string]any, path string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(obj, strings.Split(path, ".")...) // nil if something on the way is no object
	return v
}
