package jsonpath

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Path is a parsed path, such as .spec.containers[*].image.
type Path struct {
	fromRoot bool // it begins with $
	steps    []step
}

// step goes from values to values below them.
type step func(any) []any

// ParsePath parses a path without braces. The dot at its beginning may be left out.
func ParsePath(text string) (*Path, error) {
	path := &Path{}
	rest := text
	switch {
	case text == "":
		return nil, fmt.Errorf("the path is empty: want one such as .metadata.name")
	case strings.HasPrefix(text, "$"):
		path.fromRoot, rest = true, text[1:]
	case strings.HasPrefix(text, "@"):
		rest = text[1:]
	case text[0] != '.' && text[0] != '[':
		rest = "." + text
	}
	if rest == "." {
		return path, nil // the whole object
	}
	for rest != "" {
		next, tail, err := cutStep(rest)
		if err != nil {
			return nil, fmt.Errorf("the path %s: %w", text, err)
		}
		path.steps = append(path.steps, next)
		rest = tail
	}
	return path, nil
}

// Find returns the values of the path, or none if a field on the way is missing.
func (p *Path) Find(object any) []any { return p.find(object, object) }

func (p *Path) find(root, at any) []any {
	found := []any{at}
	if p.fromRoot {
		found = []any{root}
	}
	for _, s := range p.steps {
		var next []any
		for _, v := range found {
			next = append(next, s(v)...)
		}
		found = next
	}
	return found
}

// understood ends the error for a path that kubectl may understand.
const understood = "; relist understands .field, ['field'], [0], [-1], [*], .* and [?(@.field==\"value\")]"

func cutStep(s string) (next step, rest string, err error) {
	if strings.HasPrefix(s, "..") {
		return nil, "", fmt.Errorf("the search .. is not supported%s", understood)
	}
	if s[0] == '.' {
		name, rest := cutName(s[1:])
		switch name {
		case "":
			return nil, "", fmt.Errorf("a name is missing after the dot in %q", s)
		case "*":
			return all, rest, nil
		}
		return field(strings.ReplaceAll(name, `\`, "")), rest, nil
	}
	if s[0] != '[' {
		return nil, "", fmt.Errorf("%q is not understood%s", s, understood)
	}
	end := closingBracket(s)
	if end < 0 {
		return nil, "", fmt.Errorf("%s is not closed by ]", s)
	}
	next, err = bracket(strings.TrimSpace(s[1:end]))
	return next, s[end+1:], err
}

// cutName takes a name off s. A backslash before a dot or a bracket makes it a part of the name.
func cutName(s string) (name, rest string) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '.', '[':
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// closingBracket returns the index of the bracket that closes the first one.
func closingBracket(s string) int {
	var quote byte
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[':
			depth++
		case c == ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// bracket parses what stands in brackets.
func bracket(inner string) (step, error) {
	switch {
	case inner == "*":
		return all, nil
	case inner == "":
		return nil, fmt.Errorf("nothing stands between [ and ]")
	case strings.HasPrefix(inner, "?"):
		return filter(inner)
	case inner[0] == '"' || inner[0] == '\'':
		name, rest, err := cutQuoted(inner)
		if err == nil && rest != "" {
			err = fmt.Errorf("[%s] is not supported%s", inner, understood)
		}
		return field(name), err
	}
	n, err := strconv.Atoi(inner)
	if err != nil {
		return nil, fmt.Errorf("[%s] is not supported%s", inner, understood)
	}
	return index(n), nil
}

// filter parses ?(@.path == value).
func filter(inner string) (step, error) {
	bad := fmt.Errorf("the filter [%s] is not supported: relist understands [?(@.field==\"value\")] and !=", inner)
	body, ok := strings.CutPrefix(inner, "?(")
	body, closed := strings.CutSuffix(body, ")")
	if !ok || !closed {
		return nil, bad
	}
	left, right, equal := strings.Cut(body, "==")
	if !equal {
		if left, right, ok = strings.Cut(body, "!="); !ok {
			return nil, bad
		}
	}
	left, right = strings.TrimSpace(left), strings.TrimSpace(right)
	if !strings.HasPrefix(left, "@") || right == "" {
		return nil, bad
	}
	path, err := ParsePath(left)
	if err != nil {
		return nil, err
	}
	if right[0] == '"' || right[0] == '\'' {
		text, rest, err := cutQuoted(right)
		if err != nil || rest != "" {
			return nil, bad
		}
		right = text
	}
	return func(v any) []any {
		return slices.DeleteFunc(all(v), func(each any) bool {
			found := path.Find(each)
			return len(found) == 0 || (fmt.Sprint(found[0]) == right) != equal
		})
	}, nil
}

func field(name string) step {
	return func(v any) []any {
		if object, ok := v.(map[string]any); ok {
			if value, ok := object[name]; ok {
				return []any{value}
			}
		}
		return nil
	}
}

func index(n int) step {
	return func(v any) []any {
		array, ok := v.([]any)
		i := n
		if n < 0 {
			i += len(array)
		}
		if !ok || i < 0 || i >= len(array) {
			return nil
		}
		return array[i : i+1]
	}
}

// all returns the elements of an array, or the values of an object by name.
func all(v any) []any {
	switch v := v.(type) {
	case []any:
		return slices.Clone(v)
	case map[string]any:
		var values []any
		for _, name := range slices.Sorted(maps.Keys(v)) {
			values = append(values, v[name])
		}
		return values
	}
	return nil
}
