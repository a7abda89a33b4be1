package record

import (
	"net/url"
	"regexp"
	"strings"
)

func (s *scrubber) about(a about) about {
	a.path = s.path(a.path)
	a.namespace = s.namespaces[a.namespace]
	a.labels = s.selector(a.labels)
	a.fields = s.selector(a.fields)
	return a
}

// path replaces the namespace and the name of an object.
func (s *scrubber) path(path string) string {
	parts := strings.Split(path, "/")
	collection := 3 // /api/v1/..., as against /apis/apps/v1/...
	if len(parts) > 1 && parts[1] == "apis" {
		collection = 4
	}
	for i := collection + 1; i < len(parts); i++ {
		text, err := url.PathUnescape(parts[i])
		switch {
		case err != nil:
			parts[i] = s.pseudonym("value", parts[i])
		case i == collection+1 && parts[collection] == "namespaces" && len(parts) > collection+2:
			parts[i] = s.nameOr(s.namespaces, text)
		case text != s.resource:
			parts[i] = s.nameOr(s.names, text)
		}
	}
	return strings.Join(parts, "/")
}

// target replaces what a request says of objects.
func (s *scrubber) target(target string) string {
	path, query, hasQuery := strings.Cut(target, "?")
	path = s.path(path)
	if !hasQuery {
		return path
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return path // unreachable: it was encoded by url.Values
	}
	for name, replace := range map[string]func(string) string{
		"continue":      s.token,
		"labelSelector": s.selector,
		"fieldSelector": s.selector,
	} { // in any order: each is for one name, and selectors were seen with the start
		if values.Has(name) {
			values.Set(name, replace(values.Get(name)))
		}
	}
	return path + "?" + values.Encode()
}

// token replaces a continue token, which holds the name of an object.
func (s *scrubber) token(token string) string { return s.pseudonym("continue", token) }

var selectorWord = regexp.MustCompile(`[^\s=!,()<>]+`)

// selector replaces the words of a selector, but for its operators.
func (s *scrubber) selector(text string) string {
	return selectorWord.ReplaceAllStringFunc(text, func(word string) string {
		switch word {
		case "in", "notin":
			return word
		case "metadata.name", "metadata.namespace":
			return word
		}
		return s.word(word)
	})
}
