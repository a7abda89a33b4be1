package trace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// keyOrder is the order in which an API server writes these members. Other
// members follow, sorted by name. The order must be fixed, because split=N
// counts bytes.
var keyOrder = []string{
	"type", "object", "kind", "apiVersion", "metadata", "name", "namespace", "uid", "resourceVersion", "continue",
	"status", "message", "reason", "details", "code",
}

// jsonObject is a JSON object under construction.
type jsonObject map[string]jsontext.Value

// value returns the JSON of v, which is a string, a number, an object, a list
// of values, or JSON already.
func value(v any) jsontext.Value {
	switch v := v.(type) {
	case jsontext.Value:
		return v
	case jsonObject:
		return v.encode()
	case []jsontext.Value:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = string(v[i])
		}
		return jsontext.Value("[" + strings.Join(parts, ",") + "]")
	}
	data, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("trace: unreachable: strings and numbers can be encoded: " + err.Error())
	}
	return data
}

// encode writes the members in their order, without any space.
func (o jsonObject) encode() jsontext.Value {
	keys := slices.SortedFunc(maps.Keys(o), func(a, b string) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
	})
	var b strings.Builder
	b.WriteByte('{')
	for i, key := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(value(key))
		b.WriteByte(':')
		b.Write(o[key])
	}
	b.WriteByte('}')
	return jsontext.Value(b.String())
}

func rank(key string) int {
	if i := slices.Index(keyOrder, key); i >= 0 {
		return i
	}
	return len(keyOrder)
}

// merge applies patch to o by RFC 7386: it merges objects member by member,
// null removes a member, and every other value replaces one.
func (o jsonObject) merge(patch jsontext.Value) error {
	if patch == nil {
		return nil
	}
	merged, err := mergeValue(o.encode(), patch)
	if err != nil {
		return err
	}
	clear(o)
	return json.Unmarshal(merged, &o)
}

func mergeValue(base, patch jsontext.Value) (jsontext.Value, error) {
	if patch.Kind() != '{' {
		patch = patch.Clone()
		err := patch.Compact()
		return patch, err
	}
	var members jsonObject
	if err := json.Unmarshal(patch, &members); err != nil {
		return nil, fmt.Errorf("merge %s: %w", patch, err)
	}
	out := jsonObject{}
	if base.Kind() == '{' {
		if err := json.Unmarshal(base, &out); err != nil {
			return nil, fmt.Errorf("merge over %s: %w", base, err)
		}
	}
	for key, member := range members { // in any order: the keys do not depend on each other
		if member.Kind() == 'n' {
			delete(out, key)
			continue
		}
		merged, err := mergeValue(out[key], member)
		if err != nil {
			return nil, err
		}
		out[key] = merged
	}
	return out.encode(), nil
}
