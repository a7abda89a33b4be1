package record

import (
	"cmp"
	"fmt"
	"maps"
	"mime"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// scrubber replaces what is left of objects in a recording with pseudonyms. The same text in the
// same role always gets the same pseudonym. It keeps only what the help of relist record and
// [Options.Scrub] name.
type scrubber struct {
	about about // as it was recorded, because the scrubber keeps its resource, kind and version

	// Each map is from a text to its pseudonym.
	namespaces map[string]string
	names      map[string]string
	uids       map[string]string
	rest       map[string]map[string]string // for each other role: "value", "key", "continue" and so on
}

// scrub returns a copy of the conversation with pseudonyms for the text of objects. The versions of
// objects stay, and so do the events and their order.
func scrub(c *conversation) *conversation {
	s := newScrubber(c)
	out := &conversation{about: s.scrubbedAbout(), length: c.length, unsynced: c.unsynced, scrubbed: true}
	for _, x := range c.exchanges {
		y := &exchange{target: s.target(x.target), asked: x.asked, fresh: x.fresh, over: x.over}
		for _, i := range x.items {
			y.items = append(y.items, item{at: i.at, what: s.said(i.what)})
		}
		out.exchanges = append(out.exchanges, y)
	}
	return out
}

// newScrubber returns a scrubber with a pseudonym for every namespace, name and UID of the
// conversation.
func newScrubber(c *conversation) *scrubber {
	s := &scrubber{
		about:      c.about,
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
	// The order of keys is the order of the bytes of namespace/name: "a-b/x" is before "a/x". All
	// pseudonyms of namespaces have the same length, so they have the same order as the namespaces.
	number(s.namespaces, "namespace", func(a, b string) int { return cmp.Compare(a+"/", b+"/") })
	number(s.names, strings.ToLower(c.about.kind), cmp.Compare[string])
	if len(s.namespaces) == 1 {
		for only := range s.namespaces { // there is only one
			s.namespaces[only] = "default" // a trace need not write this namespace
		}
	}
	s.numberUIDs(objects)
	return s
}

// numberUIDs gives each UID a pseudonym. If possible, this is the UID that a trace gives an object
// by default, so that the trace need not write it. If an object was deleted and created again, the
// second object has the same name and needs another UID.
func (s *scrubber) numberUIDs(objects []*object) {
	homes := map[string]map[string]bool{} // the namespaces in which each name occurs
	for _, o := range objects {
		if homes[o.name] == nil {
			homes[o.name] = map[string]bool{}
		}
		homes[o.name][o.namespace] = true
	}
	generations := map[string]int{} // the number of different UIDs of each key
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

// everyObject returns all objects of the conversation, in the order in which they came.
func (c *conversation) everyObject() []*object {
	var objects []*object
	for _, step := range c.steps() {
		switch what := step.what.(type) {
		case *list:
			for i := range what.objects {
				objects = append(objects, &what.objects[i])
			}
		case *event:
			objects = append(objects, &what.object)
		}
	}
	return objects
}

// number gives each key of m a pseudonym. The pseudonyms have the same order as the keys.
func number(m map[string]string, word string, compare func(a, b string) int) {
	keys := slices.SortedFunc(maps.Keys(m), compare)
	digits := len(strconv.Itoa(len(keys)))
	for i, key := range keys {
		m[key] = fmt.Sprintf("%s-%0*d", word, digits, i+1)
	}
}

// pseudonym returns the pseudonym of a text in a role. The first text of a role gets number 1, and
// so on.
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

// nameOr returns the pseudonym that names has for a text. If names has none, the text gets a
// pseudonym as a value.
func (s *scrubber) nameOr(names map[string]string, text string) string {
	if pseudonym := names[text]; pseudonym != "" {
		return pseudonym
	}
	return s.pseudonym("value", text)
}

// word returns the pseudonym of a word that may be a name, a namespace or anything else.
func (s *scrubber) word(text string) string {
	if pseudonym := s.names[text]; pseudonym != "" {
		return pseudonym
	}
	return s.nameOr(s.namespaces, text)
}

var digits = regexp.MustCompile(`^[0-9]+$`)

// version keeps a resourceVersion that is a number, as servers write it. Any other text may be
// private, and gets a pseudonym.
func (s *scrubber) version(text string) string {
	if digits.MatchString(text) {
		return text
	}
	return s.pseudonym("version", text)
}

// token replaces a continue token, because it contains the name of an object.
func (s *scrubber) token(token string) string { return s.pseudonym("continue", token) }

func (s *scrubber) scrubbedAbout() about {
	a := s.about
	a.path = s.path(a.path)
	a.namespace = s.namespaces[a.namespace]
	a.labels = s.selector(a.labels)
	a.fields = s.fieldSelector(a.fields)
	return a
}

// target replaces the text about objects in the path and the query of a request.
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
	for name, all := range values { // the order matters only for new pseudonyms, and scrubbedAbout has given the words of selectors theirs
		replace := func(text string) string { return s.pseudonym("value", text) }
		switch name {
		case "continue":
			replace = s.token
		case "labelSelector":
			replace = s.selector
		case "fieldSelector":
			replace = s.fieldSelector
		case "resourceVersion":
			replace = s.version
		case "allowWatchBookmarks", "limit", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch":
			continue // values that the client chooses, and that say nothing about objects
		}
		for i := range all {
			all[i] = replace(all[i])
		}
	}
	return path + "?" + values.Encode()
}

// path replaces the namespace and the name of an object in a path.
func (s *scrubber) path(path string) string {
	parts := strings.Split(path, "/")
	collection := 3 // in /api/v1/...; it is 4 in /apis/apps/v1/...
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
		case text != s.about.resource:
			parts[i] = s.nameOr(s.names, text)
		}
	}
	return strings.Join(parts, "/")
}

var selectorWord = regexp.MustCompile(`[^\s=!,()<>]+`)

// selector replaces the words of a label selector. It keeps the operators.
func (s *scrubber) selector(text string) string {
	return selectorWord.ReplaceAllStringFunc(text, func(word string) string {
		if word == "in" || word == "notin" {
			return word
		}
		return s.word(word)
	})
}

// A name in a field selector may have =, a comma or a backslash in it, which are escaped, and !
// without =.
var fieldSelectorWord = regexp.MustCompile(`(\\.|[^\\=!,]|![^\\=!,])+`)

// fieldSelector replaces the words of a field selector. It keeps the operators, and the names of
// the two fields that every object has.
func (s *scrubber) fieldSelector(text string) string {
	return fieldSelectorWord.ReplaceAllStringFunc(text, func(word string) string {
		if word == "metadata.name" || word == "metadata.namespace" {
			return word
		}
		if unescaped, err := fields.UnescapeValue(word); err == nil {
			word = unescaped
		}
		return s.word(word)
	})
}

// said replaces the text about objects in an item.
func (s *scrubber) said(what said) said {
	switch what := what.(type) {
	case *list:
		return &list{version: s.version(what.version), token: s.token(what.token), objects: s.objects(what.objects)}
	case *event:
		return &event{typ: what.typ, object: s.object(what.object)}
	case *bookmark:
		return &bookmark{version: s.version(what.version), end: what.end}
	case *status:
		out := *what
		out.reason, out.message, out.token = known(what.reason), message(what.message), s.token(what.token)
		out.causes = nil
		for _, reason := range what.causes {
			out.causes = append(out.causes, known(reason))
		}
		return &out
	case *whole:
		return &whole{code: what.code, contentType: contentType(what.contentType), size: what.size}
	}
	return what // head, raw and ending have no text of objects
}

// versionMessage matches the messages of a Status about resourceVersions. A client may decide by
// them, because old servers send no reason. They contain nothing but numbers that vary.
var versionMessage = regexp.MustCompile(`^(Timeout: )?(too old resource version: \d+ \(\d+\)|Too large resource version: \d+, current: \d+|` +
	`The resourceVersion for the provided (watch|list) is too old\.)$`)

// message keeps a message about versions. Any other message may name an object or a user, so
// nothing of it stays.
func message(text string) string {
	if versionMessage.MatchString(text) {
		return text
	}
	return ""
}

// reasons are the reasons that a Status can have. They stay, because a client acts on them.
var reasons = []metav1.StatusReason{
	metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists,
	metav1.StatusReasonConflict, metav1.StatusReasonGone, metav1.StatusReasonInvalid, metav1.StatusReasonServerTimeout,
	metav1.StatusReasonStoreReadError, metav1.StatusReasonTimeout, metav1.StatusReasonTooManyRequests, metav1.StatusReasonBadRequest,
	metav1.StatusReasonMethodNotAllowed, metav1.StatusReasonNotAcceptable, metav1.StatusReasonRequestEntityTooLarge,
	metav1.StatusReasonUnsupportedMediaType, metav1.StatusReasonInternalError, metav1.StatusReasonExpired,
	metav1.StatusReasonServiceUnavailable,
	metav1.StatusReason(metav1.CauseTypeResourceVersionTooLarge),
}

// known keeps a reason of the list above, and removes any other text.
func known(reason string) string {
	if slices.Contains(reasons, metav1.StatusReason(reason)) {
		return reason
	}
	return ""
}

func (s *scrubber) objects(objects []object) []object {
	out := make([]object, len(objects))
	for i, o := range objects {
		out[i] = s.object(o)
	}
	return out
}

func (s *scrubber) object(o object) object {
	o.namespace, o.name, o.version, o.uid = s.namespaces[o.namespace], s.names[o.name], s.version(o.version), s.uids[o.uid]
	return o
}

// contentType keeps a media type of this list, and the charset utf-8. It replaces any other media
// type, because that may have private text.
func contentType(text string) string {
	typ, params, err := mime.ParseMediaType(text)
	if err != nil || !slices.Contains([]string{
		jsonMediaType, "text/html", "text/plain",
	}, typ) {
		return "application/octet-stream"
	}
	if charset := strings.ToLower(params["charset"]); charset == "utf-8" {
		return typ + "; charset=utf-8"
	}
	return typ
}
