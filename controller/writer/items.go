package writer

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// rewritesItems reports whether two states differ in a list that had objects, or lists of them.
func rewritesItems(before, after any) bool {
	switch was := before.(type) {
	case map[string]any:
		now, _ := after.(map[string]any)
		for name := range now {
			if rewritesItems(was[name], now[name]) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(was, hasMap) && after != nil && !reflect.DeepEqual(was, after)
	}
	return false
}

// hasMap reports whether a value is an object, or a list that has one.
func hasMap(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return true
	case []any:
		return slices.ContainsFunc(v, hasMap)
	}
	return false
}

// overlay returns whole with the difference between before and after, which are parts of the same
// object, at a path.
func overlay(path string, whole, before, after any) (any, error) {
	switch now := after.(type) {
	case map[string]any:
		all, _ := whole.(map[string]any)
		was, _ := before.(map[string]any) // nil if T leaves out a struct that is empty
		if all == nil {
			return after, nil
		}
		result := maps.Clone(all)
		for name := range was {
			if was[name] != nil && now[name] == nil {
				delete(result, name)
			}
		}
		var err error
		for name := range now {
			if now[name] == nil || reflect.DeepEqual(was[name], now[name]) {
				continue
			}
			if result[name], err = overlay(path+"."+name, all[name], was[name], now[name]); err != nil {
				return nil, err
			}
		}
		return result, nil
	case []any:
		all, _ := whole.([]any)
		was, _ := before.([]any)
		if len(all) != len(was) { // T leaves out items
			return after, nil
		}
		return overlayItems(path, all, was, now)
	}
	return after, nil
}

func overlayItems(path string, all, was, now []any) (any, error) {
	places, ok := places(all, was, now)
	if !ok {
		return nil, fmt.Errorf("the items of %s have no names, and it is not clear which of them are still there: "+
			"change items, and add or remove others, in separate calls, or use MergePatch", strings.TrimPrefix(path, "."))
	}
	result := slices.Clone(now)
	for i, place := range places {
		switch {
		case place < 0:
		case reflect.DeepEqual(was[place], now[i]):
			result[i] = all[place]
		default:
			item, err := overlay(path, all[place], was[place], now[i])
			if err != nil {
				return nil, err
			}
			result[i] = item
		}
	}
	return result, nil
}

// places returns, of each item of a list, its place in the earlier list, or -1 if the item is new.
// all is the earlier list with the fields that T lacks. If fields would be lost because items
// cannot be told apart, places returns false.
func places(all, before, after []any) (places []int, ok bool) {
	places = make([]int, len(after))
	if was, now := names(before), names(after); was != nil && now != nil {
		for i := range now {
			places[i] = slices.Index(was, now[i])
		}
		return places, true
	}
	used := make([]bool, len(before))
	match := func(i, j int) {
		if !used[j] && reflect.DeepEqual(before[j], after[i]) {
			places[i], used[j] = j, true
		}
	}
	inPlace := len(before) == len(after)
	for i := range after {
		places[i] = -1
		if inPlace { // of items that look alike, one that has not moved
			match(i, i)
		}
	}
	for i := range after {
		for j := 0; places[i] < 0 && j < len(before); j++ {
			match(i, j)
		}
		inPlace = inPlace && (places[i] < 0 || places[i] == i)
	}
	if inPlace { // so what has no equal was changed
		for i := range places {
			places[i] = i
		}
		return places, true
	}
	added := slices.Contains(places, -1)
	for j := range before {
		if !used[j] && (added && lacks(before[j], all[j]) || hasDouble(j, all, before)) {
			return nil, false
		}
	}
	return places, true
}

// lacks reports whether a value, as T has it, lacks fields of the whole value.
func lacks(has, whole any) bool {
	switch all := whole.(type) {
	case map[string]any:
		fields, ok := has.(map[string]any)
		for name, value := range all {
			if ok && value != nil && (fields[name] == nil || lacks(fields[name], value)) {
				return true
			}
		}
	case []any:
		items, ok := has.([]any)
		for i := range all {
			if ok && (len(items) != len(all) || lacks(items[i], all[i])) {
				return true
			}
		}
	}
	return false
}

// hasDouble reports whether T cannot tell an item from another one with other fields.
func hasDouble(j int, all, before []any) bool {
	for k := range before {
		if reflect.DeepEqual(before[k], before[j]) && !reflect.DeepEqual(all[k], all[j]) {
			return true
		}
	}
	return false
}

// names returns the names of the items of a list, or nil if an item has none or two have the same.
func names(list []any) []string {
	all := make([]string, len(list))
	for i, item := range list {
		m, _ := item.(map[string]any)
		name, _ := m["name"].(string)
		if name == "" || slices.Contains(all[:i], name) {
			return nil
		}
		all[i] = name
	}
	return all
}
