package writer

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzPatch makes an object of the bytes, hides some of its fields from a type, and changes the
// rest. The patch must make the same change of the whole object, and leave the hidden fields alone.
func FuzzPatch(f *testing.F) {
	f.Add([]byte{})
	for i := range byte(100) {
		seed := make([]byte, 200)
		_, _ = rand.NewChaCha8([32]byte{i}).Read(seed)
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &model{choices: data}
		whole := m.object(3)
		was, _ := seen(whole).(map[string]any)
		want := m.change(whole)
		now, _ := seen(want).(map[string]any)
		before, after := was, now
		if rewritesItems(before, after) {
			result, err := overlay("", whole, before, after)
			if err != nil {
				t.Fatalf("%s\nis seen as %s\nand made    %s\nerror       %v", text(whole), text(was), text(now), err)
			}
			before, after = whole, result.(map[string]any)
		}
		patch := mergePatchOf(before, after)
		if got := merged(whole, patch); !cmp.Equal(prune(want), prune(got)) {
			t.Errorf("%s\nis seen as %s\nand made    %s\nbecame      %s\nwant        %s\nby the patch %s", text(whole), text(was), text(now), text(got), text(want), text(patch))
		}
	})
}

// merged is the algorithm of RFC 7396, section 2.
func merged(target, patch any) any {
	fields, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	result := map[string]any{}
	if m, ok := target.(map[string]any); ok {
		result = maps.Clone(m)
	}
	for name, value := range fields {
		if value == nil {
			delete(result, name)
		} else {
			result[name] = merged(result[name], value)
		}
	}
	return result
}

// prune returns a value without the fields that are null, which are the same as no fields.
func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		result := map[string]any{}
		for name, value := range v {
			if value != nil {
				result[name] = prune(value)
			}
		}
		return result
	case []any:
		result := make([]any, len(v))
		for i := range v {
			result[i] = prune(v[i])
		}
		return result
	}
	return v
}

func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// model makes objects whose fields are named after what a type does with them: the type has no
// field whose name begins with "hidden"; it omits the field "omit", a struct, if that is empty; and
// if there is no field "null", the type has it as null.
type model struct {
	choices []byte
	made    int
}

// below returns a number below n.
func (m *model) below(n int) int {
	if len(m.choices) == 0 {
		return 0
	}
	c := m.choices[0]
	m.choices = m.choices[1:]
	return int(c) % n
}

// unique returns a value that no other field has.
func (m *model) unique() any {
	m.made++
	if m.below(2) == 0 {
		return json.Number(strconv.Itoa(9007199254740992 + m.made))
	}
	return strconv.Itoa(m.made)
}

func (m *model) value(depth int) any {
	kind := m.below(5)
	switch {
	case depth == 0 || kind <= 1:
		return m.unique()
	case kind == 2:
		return m.object(depth - 1)
	}
	list := make([]any, m.below(4))
	kind = m.below(4)
	for i := range list {
		switch kind {
		case 0:
			list[i] = m.unique()
		case 1:
			list[i] = []any{m.item(depth-1, false)}
		default:
			list[i] = m.item(depth-1, kind == 2)
		}
	}
	return list
}

// item returns an object in which the type sees something that no other object has.
func (m *model) item(depth int, named bool) any {
	obj := m.object(depth)
	delete(obj, "omit")
	obj["id"] = m.unique()
	if named {
		m.made++
		obj["name"] = "n" + strconv.Itoa(m.made)
	}
	return obj
}

func (m *model) object(depth int) map[string]any {
	obj := map[string]any{}
	for range m.below(5) {
		name := []string{"a", "b", "", "~/", "hidden", "hidden2", "omit", "null"}[m.below(8)]
		if name != "omit" {
			obj[name] = m.value(depth)
		} else if depth > 0 {
			inner := m.object(depth - 1)
			inner["hidden"] = m.unique()
			obj[name] = inner
		}
	}
	return obj
}

// seen returns what the type has of a value.
func seen(v any) any {
	switch v := v.(type) {
	case map[string]any:
		has := map[string]any{"null": nil}
		for name, value := range v {
			value = seen(value)
			inner, _ := value.(map[string]any)
			switch {
			case strings.HasPrefix(name, "hidden"):
			case name == "omit" && len(prune(inner).(map[string]any)) == 0:
			default:
				has[name] = value
			}
		}
		return has
	case []any:
		has := make([]any, len(v))
		for i := range v {
			has[i] = seen(v[i])
		}
		return has
	}
	return v
}

// change returns a value with other visible fields.
func (m *model) change(v any) any {
	switch v := v.(type) {
	case map[string]any:
		result := maps.Clone(v)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if name == "id" || name == "name" || strings.HasPrefix(name, "hidden") {
				continue
			}
			inner, _ := v[name].(map[string]any)
			switch n := m.below(6); {
			case name == "omit":
				result[name] = m.change(inner)
			case n == 0:
				delete(result, name)
			case n == 1 && inner == nil: // a map stays one, with the fields that are hidden
				result[name] = m.unique()
			case n <= 4:
				result[name] = m.change(v[name])
			}
		}
		if m.below(3) == 0 {
			result["new"] = seen(m.value(1))
		}
		if omit, ok := v["omit"].(map[string]any); ok && seen(result).(map[string]any)["omit"] == nil {
			result["omit"] = omit // if it were empty, it would end with all of its fields
		}
		return result
	case []any:
		return m.changeList(v)
	}
	return m.unique()
}

// changeList returns a list with other items. The type can tell which of them it had: by their
// names, or because only one thing is done to the list.
func (m *model) changeList(list []any) any {
	result := slices.Clone(list)
	named := len(list) > 0
	for _, item := range list {
		obj, _ := item.(map[string]any)
		named = named && obj["name"] != nil
	}
	how := m.below(4)
	if how == 0 || named { // in place
		for i := range result {
			if hasMap(result[i]) || m.below(2) == 0 {
				result[i] = m.change(result[i])
			}
		}
	}
	if how == 1 || named { // another order
		for i := range result {
			j := m.below(i + 1)
			result[i], result[j] = result[j], result[i]
		}
	}
	if how == 2 || named { // fewer
		result = slices.DeleteFunc(result, func(any) bool { return m.below(3) == 0 })
	}
	if (how == 3 || named) && len(result) <= len(list) { // more
		for range m.below(3) {
			at := m.below(len(result) + 1)
			item := m.item(0, named)
			result = slices.Insert(result, at, seen(item))
		}
	}
	return result
}
