package record

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
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

// nameOr is the pseudonym of a name, or of whatever else a text may be.
func (s *scrubber) nameOr(names map[string]string, text string) string {
	if pseudonym := names[text]; pseudonym != "" {
		return pseudonym
	}
	return s.pseudonym("value", text)
}

// word is that of a word which may be anybody's name.
func (s *scrubber) word(text string) string {
	if pseudonym := s.names[text]; pseudonym != "" {
		return pseudonym
	}
	return s.nameOr(s.namespaces, text)
}
