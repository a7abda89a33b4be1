package record

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// scrubber replaces what names somebody's objects. The same text in the same role
// is always replaced by the same pseudonym.
type scrubber struct {
	resource string // its name may stand in messages

	namespaces map[string]string
	names      map[string]string
	uids       map[string]string
	rest       map[string]map[string]string // by role: "value", "key", "continue"
}

// scrub returns a conversation in which nothing of the objects is left but their
// versions, and what became of them.
func scrub(c *conversation) *conversation {
	s := newScrubber(c)
	out := &conversation{about: s.about(c.about), length: c.length, scrubbed: true}
	for _, x := range c.exchanges {
		y := &exchange{target: s.target(x.target), asked: x.asked, fresh: x.fresh, over: x.over}
		for _, i := range x.items {
			y.items = append(y.items, item{at: i.at, what: s.said(i.what)})
		}
		out.exchanges = append(out.exchanges, y)
	}
	return out
}

func newScrubber(c *conversation) *scrubber {
	s := &scrubber{
		resource:   c.about.resource,
		namespaces: map[string]string{},
		names:      map[string]string{},
		uids:       map[string]string{},
		rest:       map[string]map[string]string{},
	}
	objects := c.everyObject()
	if c.about.namespace != "" {
		s.namespaces[c.about.namespace] = ""
	}
	for _, o := range objects {
		if o.namespace != "" {
			s.namespaces[o.namespace] = ""
		}
		s.names[o.name] = ""
	}
	// Keys are in the order of namespace/name, byte by byte: "a-b/x" is before
	// "a/x". Pseudonyms of one length keep that order.
	number(s.namespaces, "namespace", func(a, b string) int { return cmp.Compare(a+"/", b+"/") })
	number(s.names, strings.ToLower(c.about.kind), cmp.Compare[string])
	if len(s.namespaces) == 1 {
		for only := range s.namespaces { // there is one
			s.namespaces[only] = "default" // the shortest to write
		}
	}
	s.numberUIDs(objects)
	return s
}

// numberUIDs gives each UID the one that a trace leaves out, where it can. An
// object that was deleted and made again keeps its name and gets another UID.
func (s *scrubber) numberUIDs(objects []*object) {
	homes := map[string]map[string]bool{} // namespaces by name
	for _, o := range objects {
		if homes[o.name] == nil {
			homes[o.name] = map[string]bool{}
		}
		homes[o.name][o.namespace] = true
	}
	generations := map[string]int{} // by key
	for _, o := range objects {
		if o.uid == "" || s.uids[o.uid] != "" {
			continue
		}
		uid := "uid-" + s.names[o.name]
		if len(homes[o.name]) > 1 {
			uid += "-" + s.namespaces[o.namespace]
		}
		if generations[o.key()]++; generations[o.key()] > 1 {
			uid += "-" + strconv.Itoa(generations[o.key()])
		}
		s.uids[o.uid] = uid
	}
}

// everyObject returns the objects in the order in which they came.
func (c *conversation) everyObject() []*object {
	var objects []*object
	for _, step := range c.steps() {
		switch what := step.what.(type) {
		case *list:
			for i := range what.objects {
				objects = append(objects, &what.objects[i])
			}
		case *begunList:
			for i := range what.objects {
				objects = append(objects, &what.objects[i])
			}
		case *event:
			objects = append(objects, &what.object)
		}
	}
	return objects
}

// number gives each key of m a pseudonym, so that their order is that of the keys.
func number(m map[string]string, word string, compare func(a, b string) int) {
	keys := make([]string, 0, len(m))
	for key := range m { // in any order: sorted next
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compare)
	digits := len(strconv.Itoa(len(keys)))
	for i, key := range keys {
		m[key] = fmt.Sprintf("%s-%0*d", word, digits, i+1)
	}
}

// pseudonym is that of a text in a role, by the order in which they come.
func (s *scrubber) pseudonym(role, text string) string {
	if text == "" {
		return ""
	}
	known := s.rest[role]
	if known == nil {
		known = map[string]string{}
		s.rest[role] = known
	}
	if known[text] == "" {
		known[text] = role + "-" + strconv.Itoa(len(known)+1)
	}
	return known[text]
}

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
			parts[i] = cmp.Or(s.namespaces[text], s.pseudonym("value", text))
		case text != s.resource:
			parts[i] = cmp.Or(s.names[text], s.pseudonym("value", text))
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
		return cmp.Or(s.names[word], s.namespaces[word], s.pseudonym("value", word))
	})
}

// said replaces what an answer says of objects.
func (s *scrubber) said(what said) said {
	switch what := what.(type) {
	case *list:
		out := &list{version: what.version, token: s.token(what.token), extra: s.json("", what.extra)}
		for _, o := range what.objects {
			out.objects = append(out.objects, s.object(o))
		}
		return out
	case *begunList:
		out := &begunList{of: what.of}
		for _, o := range what.objects {
			out.objects = append(out.objects, s.object(o))
		}
		return out
	case *event:
		return &event{typ: what.typ, object: s.object(what.object), split: what.split}
	case *bookmark:
		return &bookmark{version: what.version, extra: s.json("", what.extra), split: what.split}
	case *status:
		return &status{
			event: what.event, code: what.code, reason: s.reason(what.reason), message: s.message(what.message),
			extra: s.json("", what.extra),
		}
	case *whole:
		return &whole{code: what.code, contentType: what.contentType, body: s.bytes(what.body)}
	case *raw:
		if eventStart.Match(what.data) && len(eventStart.Find(what.data)) == len(what.data) {
			return what // it ends before anything is named
		}
		return &raw{data: s.bytes(what.data)}
	}
	return what // head and ending say nothing of objects
}

func (s *scrubber) object(o object) object {
	return object{
		namespace: s.namespaces[o.namespace],
		name:      s.names[o.name],
		version:   o.version,
		uid:       s.uids[o.uid],
		extra:     s.json("", o.extra),
	}
}

// bytes replaces what is no object: JSON by its members, anything else letter by
// letter, so that it stays as long and as broken as it was.
func (s *scrubber) bytes(data []byte) []byte {
	if v := jsontext.Value(data).Clone(); v.IsValid(lenient) {
		scrubbed := []byte(s.json("", v))
		if n := len(data); n > 0 && data[n-1] == '\n' {
			scrubbed = append(scrubbed, '\n')
		}
		return scrubbed
	}
	out := make([]byte, len(data))
	for i, b := range data {
		switch {
		case b >= '0' && b <= '9':
			b = '0'
		case b >= 'A' && b <= 'Z', b >= 'a' && b <= 'z', b >= 0x80:
			b = 'x'
		}
		out[i] = b
	}
	return out
}
