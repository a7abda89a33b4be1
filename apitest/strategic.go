package apitest

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// mergeKeys has the lists that a strategic merge patch merges element by element. For each list it has the members that
// identify an element. kube-apiserver takes this from the Go type of each object. This server has no such types, so the
// name of the list decides. The patch replaces any other list as a whole.
//
// https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/
var mergeKeys = map[string][]string{
	"conditions":          {"type"},
	"containers":          {"name"},
	"env":                 {"name"},
	"ephemeralContainers": {"name"},
	"hostAliases":         {"ip"},
	"imagePullSecrets":    {"name"},
	"initContainers":      {"name"},
	"ownerReferences":     {"uid"},
	"ports":               {"containerPort", "port"},
	"secrets":             {"name"},
	"volumeDevices":       {"devicePath"},
	"volumeMounts":        {"mountPath"},
	"volumes":             {"name"},
}

// strategicMerge applies a strategic merge patch. It is a merge patch that merges the lists in mergeKeys and the list
// of finalizers. It knows the directives $patch (delete and replace), $retainKeys and $deleteFromPrimitiveList. It
// ignores $setElementOrder: merged elements keep their place, and new elements follow.
func strategicMerge(obj, patch map[string]any) map[string]any {
	if patch["$patch"] == "replace" {
		out := maps.Clone(patch)
		delete(out, "$patch")
		return out
	}
	if obj == nil {
		obj = make(map[string]any, len(patch))
	}
	if keep, ok := patch["$retainKeys"].([]any); ok {
		maps.DeleteFunc(obj, func(k string, _ any) bool { return !contains(keep, k) })
	}
	for k, v := range patch { // each key is changed by itself: the order does not matter
		if name, ok := strings.CutPrefix(k, "$deleteFromPrimitiveList/"); ok {
			if gone, ok := v.([]any); ok {
				obj[name] = without(obj[name], gone)
			}
			continue
		}
		if strings.HasPrefix(k, "$") {
			continue
		}
		switch v := v.(type) {
		case nil:
			delete(obj, k)
		case map[string]any:
			if v["$patch"] == "delete" {
				delete(obj, k)
				continue
			}
			old, _ := obj[k].(map[string]any)
			obj[k] = strategicMerge(maps.Clone(old), v)
		case []any:
			obj[k] = mergeList(k, obj[k], v)
		default:
			obj[k] = v
		}
	}
	return obj
}

// mergeList returns the list under name after the patch.
func mergeList(name string, old any, patch []any) []any {
	have, _ := old.([]any)
	have = slices.Clone(have)
	if name == "finalizers" {
		for _, v := range patch {
			if !contains(have, v) {
				have = append(have, v)
			}
		}
		return have
	}
	keys := mergeKeys[name]
	if keys == nil {
		return patch
	}
	replace := false
	for _, v := range patch {
		elem, ok := v.(map[string]any)
		if !ok {
			return patch // another list of the same name: its elements are no objects
		}
		if elem["$patch"] == "replace" {
			replace = true
		}
	}
	if replace {
		have = nil
	}
	for _, v := range patch {
		elem := v.(map[string]any) // as checked above
		i := slices.IndexFunc(have, func(x any) bool { return sameElement(x, elem, keys) })
		switch {
		case elem["$patch"] == "replace" && len(elem) == 1:
		case elem["$patch"] == "delete":
			if i >= 0 {
				have = slices.Delete(have, i, i+1)
			}
		case i >= 0:
			cur, _ := have[i].(map[string]any)
			have[i] = strategicMerge(maps.Clone(cur), elem)
		default:
			have = append(have, strategicMerge(nil, elem))
		}
	}
	return have
}

// sameElement reports whether a and b are the same element: it compares the first of keys that b has.
func sameElement(a any, b map[string]any, keys []string) bool {
	m, ok := a.(map[string]any)
	if !ok {
		return false
	}
	for _, k := range keys {
		if v, ok := b[k]; ok {
			return reflect.DeepEqual(m[k], v)
		}
	}
	return false
}

// without returns list without the values in gone.
func without(list any, gone []any) []any {
	have, _ := list.([]any)
	return slices.DeleteFunc(slices.Clone(have), func(v any) bool { return contains(gone, v) })
}

// contains does the same as slices.Contains for JSON values. Among these are maps and slices, which == cannot compare.
func contains(list []any, v any) bool {
	return slices.ContainsFunc(list, func(x any) bool { return reflect.DeepEqual(x, v) })
}
