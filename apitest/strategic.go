package apitest

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// mergeKeys names the lists that a strategic merge patch merges element by element, with the members that identify one.
// kube-apiserver takes this from the Go type of each object; this server has no types, so the name of the list decides.
// Any other list is replaced as a whole.
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

// strategicMerge applies a strategic merge patch: a merge patch in which the lists of mergeKeys, and finalizers, are
// merged, with the directives $patch (delete, replace), $retainKeys and $deleteFromPrimitiveList. $setElementOrder is
// ignored: merged elements keep their place and new ones follow.
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
	for k, v := range patch { // each key by itself: the order does not matter
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
			return patch // not the list that the table means
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

// sameElement reports whether a and b agree in the first of keys that b has.
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

func without(list any, gone []any) []any {
	have, _ := list.([]any)
	return slices.DeleteFunc(slices.Clone(have), func(v any) bool { return contains(gone, v) })
}

// contains is slices.Contains for values of JSON, of which maps and slices cannot be compared by ==.
func contains(list []any, v any) bool {
	return slices.ContainsFunc(list, func(x any) bool { return reflect.DeepEqual(x, v) })
}
