package apitest

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A jsonPatchOp is one operation of a JSON patch, RFC 6902.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// applyJSONPatch applies the operations in order; obj may be left half changed when one fails.
func applyJSONPatch(obj map[string]any, ops []jsonPatchOp) (map[string]any, error) {
	var root any = obj
	for i, op := range ops {
		next, err := op.apply(root)
		if err != nil {
			return nil, fmt.Errorf("operation %d, %s %s: %w", i, op.Op, op.Path, err)
		}
		root = next
	}
	obj, ok := root.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the patch leaves no object")
	}
	return obj, nil
}

func (op jsonPatchOp) apply(root any) (any, error) {
	path, err := pointer(op.Path)
	if err != nil {
		return nil, err
	}
	switch op.Op {
	case "add", "replace", "remove":
		return edit(root, path, op.Op, op.Value)
	case "test":
		have, err := find(root, path)
		if err != nil {
			return nil, err
		}
		if !reflect.DeepEqual(have, op.Value) {
			return nil, fmt.Errorf("testing value %s failed", op.Path)
		}
		return root, nil
	case "move", "copy":
		from, err := pointer(op.From)
		if err != nil {
			return nil, err
		}
		v, err := find(root, from)
		if err != nil {
			return nil, err
		}
		if op.Op == "move" {
			if root, err = edit(root, from, "remove", nil); err != nil {
				return nil, err
			}
		} else {
			v = deepCopy(v)
		}
		return edit(root, path, "add", v)
	}
	return nil, fmt.Errorf("unknown operation")
}

// pointer splits a JSON pointer, RFC 6901.
func pointer(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	if s[0] != '/' {
		return nil, fmt.Errorf("the path %q does not begin with a slash", s)
	}
	parts := strings.Split(s[1:], "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
	}
	return parts, nil
}

func find(v any, path []string) (any, error) {
	for _, name := range path {
		switch x := v.(type) {
		case map[string]any:
			member, ok := x[name]
			if !ok {
				return nil, fmt.Errorf("no member %q", name)
			}
			v = member
		case []any:
			i, err := index(name, len(x)-1)
			if err != nil {
				return nil, err
			}
			v = x[i]
		default:
			return nil, fmt.Errorf("%q is below a value without members", name)
		}
	}
	return v, nil
}

// edit returns v with the value at path added, replaced or removed.
func edit(v any, path []string, op string, value any) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	name, last := path[0], len(path) == 1
	switch x := v.(type) {
	case map[string]any:
		old, exists := x[name]
		switch {
		case !exists && (op == "remove" || !last): // kube-apiserver's "replace" adds what is not there, RFC 6902 or not
			return nil, fmt.Errorf("no member %q", name)
		case last && op == "remove":
			delete(x, name)
			return x, nil
		}
		changed, err := edit(old, path[1:], op, value)
		if err != nil {
			return nil, err
		}
		x[name] = changed
		return x, nil
	case []any:
		if last && op == "add" {
			if name == "-" {
				return append(x, value), nil
			}
			i, err := index(name, len(x))
			if err != nil {
				return nil, err
			}
			return slices.Insert(x, i, value), nil
		}
		i, err := index(name, len(x)-1)
		if err != nil {
			return nil, err
		}
		if last && op == "remove" {
			return slices.Delete(x, i, i+1), nil
		}
		x[i], err = edit(x[i], path[1:], op, value)
		return x, err
	}
	return nil, fmt.Errorf("%q is below a value without members", name)
}

func index(s string, most int) (int, error) {
	i, err := strconv.Atoi(s)
	if err != nil || i < 0 || i > most {
		return 0, fmt.Errorf("no index %q", s)
	}
	return i, nil
}

func deepCopy(v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, v := range x {
			out[k] = deepCopy(v)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, v := range x {
			out[i] = deepCopy(v)
		}
		return out
	}
	return v
}
