package record

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The functions in this file keep the name of a member only if they know a field of this name at this place. The
// field decides how its value is replaced. Everything else is contents, and only the form of contents stays: strings
// and keys get pseudonyms, and digits become 1. So the keys of a user's own map, such as spec.tenants, are replaced,
// even if they look like fields of the API.

// json replaces the text of an object, a list, an event or a Status.
func (s *scrubber) json(v jsontext.Value) jsontext.Value {
	m, ok := open(v)
	switch {
	case !ok:
		return s.contents(v)
	case string(m["kind"]) == `"Status"`:
		return s.fields(m, s.statusField)
	}
	return s.fields(m, s.objectField)
}

// patch does the same as json for the JSON on a line of a trace, which may be nil.
func (s *scrubber) patch(v jsontext.Value) jsontext.Value {
	if v == nil {
		return nil
	}
	return s.json(v)
}

// statusPatch does the same as patch for a line with a Status.
func (s *scrubber) statusPatch(v jsontext.Value) jsontext.Value {
	m, ok := open(v)
	if !ok {
		return nil
	}
	return s.fields(m, s.statusField)
}

// field returns the new value of a field, or nil to leave the field out. It returns false if the API has no such
// field.
type field func(name string, v jsontext.Value) (jsontext.Value, bool)

// fields replaces the members of an object. If known does not know a member, its name and its value are replaced.
func (s *scrubber) fields(m members, known field) jsontext.Value {
	out := members{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		switch v, ok := known(name, m[name]); {
		case !ok:
			out[s.pseudonym("key", name)] = s.contents(m[name])
		case v != nil:
			out[name] = v
		}
	}
	if len(out) == 0 {
		return jsontext.Value("{}")
	}
	return out.patch()
}

// nested does the same as fields for a value that should be an object. If the value is not an object, it is replaced
// as contents.
func (s *scrubber) nested(v jsontext.Value, known field) jsontext.Value {
	m, ok := open(v)
	if !ok {
		return s.contents(v)
	}
	return s.fields(m, known)
}

// each calls replace for each element of a value that should be a list. If the value is not a list, it is replaced
// as contents.
func (s *scrubber) each(v jsontext.Value, replace func(jsontext.Value) jsontext.Value) jsontext.Value {
	var values []jsontext.Value
	if v.Kind() != '[' || json.Unmarshal(v, &values, lenient) != nil {
		return s.contents(v)
	}
	for i := range values {
		values[i] = replace(values[i])
	}
	return encoded(values)
}

// text calls replace for a value that should be a string. If the value is not a string, it is replaced as contents.
func (s *scrubber) text(v jsontext.Value, replace func(string) string) jsontext.Value {
	var text string
	if v.Kind() != '"' || json.Unmarshal(v, &text, lenient) != nil {
		return s.contents(v)
	}
	return encoded(replace(text))
}

// encoded returns v in JSON.
func encoded(v any) jsontext.Value {
	m := members{}
	m.set("", v)
	return m[""]
}

var digit = regexp.MustCompile(`[0-9]`)

// contents replaces a value of which nothing is known. Only its form stays.
func (s *scrubber) contents(v jsontext.Value) jsontext.Value {
	switch v.Kind() {
	case '{':
		return s.nested(v, func(string, jsontext.Value) (jsontext.Value, bool) { return nil, false })
	case '[':
		return s.each(v, s.contents)
	case '"':
		return s.text(v, func(text string) string { return s.pseudonym("value", text) })
	case '0':
		return digit.ReplaceAll(v, []byte("1"))
	default:
		return v // true, false, null
	}
}

func (s *scrubber) objectField(name string, v jsontext.Value) (jsontext.Value, bool) {
	switch name {
	case "kind":
		return s.text(v, s.kind), true
	case "apiVersion":
		return s.text(v, s.apiVersion), true
	case "metadata":
		return s.nested(v, s.metadataField), true
	case "spec", "status", "data":
		return s.contents(v), true
	case "items": // of a list
		return s.each(v, s.json), true
	case "object": // of an event
		return s.json(v), true
	case "type": // of an event
		return s.oneOf(v, "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"), true
	}
	return nil, false
}

func (s *scrubber) metadataField(name string, v jsontext.Value) (jsontext.Value, bool) {
	switch name {
	case "name":
		return s.text(v, func(text string) string { return s.nameOr(s.names, text) }), true
	case "namespace":
		return s.text(v, func(text string) string { return s.nameOr(s.namespaces, text) }), true
	case "uid":
		return s.text(v, func(text string) string { return s.nameOr(s.uids, text) }), true
	case "resourceVersion":
		return s.text(v, s.version), true
	case "continue":
		return s.text(v, s.token), true
	case "creationTimestamp", "deletionTimestamp":
		return s.text(v, s.time), true
	case "annotations":
		return s.nested(v, func(name string, v jsontext.Value) (jsontext.Value, bool) {
			return s.oneOf(v, "true"), name == metav1.InitialEventsAnnotationKey
		}), true
	case "ownerReferences":
		return s.each(v, func(v jsontext.Value) jsontext.Value {
			return s.nested(v, s.contentsOf("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"))
		}), true
	case "managedFields":
		// managedFields repeat every key of the object, and clients do not use them.
		if json.Unmarshal(v, new([]metav1.ManagedFieldsEntry), lenient) == nil {
			return nil, true
		}
	}
	return s.contentsOf("generateName", "selfLink", "generation", "deletionGracePeriodSeconds", "labels", "finalizers",
		"managedFields", "remainingItemCount")(name, v)
}

// contentsOf returns a field function that keeps these names, and replaces their values as contents.
func (s *scrubber) contentsOf(names ...string) field {
	return func(name string, v jsontext.Value) (jsontext.Value, bool) {
		return s.contents(v), slices.Contains(names, name)
	}
}

func (s *scrubber) statusField(name string, v jsontext.Value) (jsontext.Value, bool) {
	switch name {
	case "status":
		return s.oneOf(v, metav1.StatusFailure, metav1.StatusSuccess), true
	case "message":
		return s.text(v, s.message), true
	case "reason":
		return s.text(v, s.reason), true
	case "code":
		return s.number(v), true
	case "details":
		return s.nested(v, s.detailsField), true
	}
	return s.objectField(name, v)
}

func (s *scrubber) detailsField(name string, v jsontext.Value) (jsontext.Value, bool) {
	switch name {
	case "name", "group", "kind":
		return s.text(v, func(text string) string { return strings.Trim(s.message(`"`+text+`"`), `"`) }), true
	case "uid":
		return s.text(v, func(text string) string { return s.nameOr(s.uids, text) }), true
	case "retryAfterSeconds":
		return s.number(v), true
	case "causes":
		return s.each(v, func(v jsontext.Value) jsontext.Value { return s.nested(v, s.causeField) }), true
	}
	return nil, false
}

func (s *scrubber) causeField(name string, v jsontext.Value) (jsontext.Value, bool) {
	switch name {
	case "reason":
		return s.text(v, s.reason), true
	case "message":
		return s.text(v, s.message), true
	}
	return s.contentsOf("field")(name, v)
}

// oneOf keeps a string that is one of words, and replaces any other.
func (s *scrubber) oneOf(v jsontext.Value, words ...string) jsontext.Value {
	return s.text(v, func(text string) string {
		if slices.Contains(words, text) {
			return text
		}
		return s.pseudonym("value", text)
	})
}

// number keeps a number that the server has chosen, such as the code of a Status.
func (s *scrubber) number(v jsontext.Value) jsontext.Value {
	if v.Kind() == '0' {
		return v
	}
	return s.contents(v)
}

// kind keeps the kind of the recorded objects, and kinds that every server has. It replaces any other.
func (s *scrubber) kind(text string) string {
	one, isList := strings.CutSuffix(text, "List")
	if !slices.Contains([]string{s.about.kind, "Status", "Table", "PartialObjectMetadata"}, one) {
		one = s.pseudonym("Kind", one)
	}
	if isList {
		one += "List"
	}
	return one
}

func (s *scrubber) apiVersion(text string) string {
	if slices.Contains([]string{s.about.apiVersion, "v1", "meta.k8s.io/v1"}, text) {
		return text
	}
	return s.pseudonym("version", text)
}

// time replaces every time with the same time. It replaces a text that is not a time with a pseudonym.
func (s *scrubber) time(text string) string {
	if _, err := time.Parse(time.RFC3339, text); err == nil {
		return "2000-01-01T00:00:00Z"
	}
	return s.pseudonym("value", text)
}

// vocabulary has the words that API servers use in messages. Any other word in a message may be a name.
var vocabulary = words(`
a able about access after again all allowed an and any api apiserver apiservers are as asked at authorization authorize
back be because been before being behind between but by cache cannot capacity change changed client closed cluster
compacted compaction compute connect connecting connection connections consistent context continue continuing could
current currently data deadline decode delete deleted denied did display do does due during either encountered error
errors etcd etcdserver event events exceeded exist expired failed find for forbidden found from full future get gone
group handle handler has have header however http https if in inconsistent initialized initializing input internal
into invalid is it its key kind kube kubernetes large larger later latest leader limit list longer lookup lost mvcc
must namespace namespaces new newer no not object objects occurred of old older on only or order other page parameter
path period please process processing provided query quota rate re read reached reading ready refused remainder request
requested requests required reset resource resources resourceversion response result results resulting retrieve retry revision scope
secs seconds see selector send sent server service shut shutdown shutting slow some start started still stop stopped storage
stream string supported temporarily than that the there this time timed timeout to token too took transport trying unable
unauthorized unavailable unexpected unknown until unsupported update use used user users using value verb version was
watch watched watching we were when which while will with within without without wrong you your lt eof tcp dial tls
handshake timestamp strconv parseuint parsing syntax snapshot serve served max received rev body begins
empty status bad gateway many html text plain
`)

func words(text string) map[string]bool {
	m := map[string]bool{}
	for _, word := range strings.Fields(text) {
		m[word] = true
	}
	return m
}

// messageWord matches a word, a name, a number or an address.
var messageWord = regexp.MustCompile(`[\pL\pN_.@%~+-]*[\pL\pN]`)

var digits = regexp.MustCompile(`^[0-9]+$`)

// message replaces the words in the message of a Status that are not in vocabulary. A name of an object is replaced
// even if it is in vocabulary, because an object may be called "token". Numbers stay, because they are usually
// versions. A number in quotes is replaced, because names stand in quotes.
func (s *scrubber) message(text string) string {
	text = strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII && !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			return '?'
		}
		return r
	}, text)
	var b strings.Builder
	end := 0
	for _, at := range messageWord.FindAllStringIndex(text, -1) {
		word := text[at[0]:at[1]]
		b.WriteString(text[end:at[0]])
		end = at[1]
		quoted := at[0] > 0 && (text[at[0]-1] == '"' || text[at[0]-1] == '\'')
		switch {
		case word == s.about.resource, digits.MatchString(word) && !quoted:
		case s.names[word] == "" && s.namespaces[word] == "" && vocabulary[strings.ToLower(word)]:
		default:
			word = s.word(word)
		}
		b.WriteString(word)
	}
	return b.String() + text[end:]
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

// reason keeps a reason of a Status, and replaces any other text. The type of a cause is also in a field named
// reason.
func (s *scrubber) reason(reason string) string {
	if slices.Contains(reasons, metav1.StatusReason(reason)) {
		return reason
	}
	return s.pseudonym("value", reason)
}

// bytes replaces the text of data that is not an object. If data is JSON, its members are replaced. Otherwise each
// digit becomes 0, and each other byte becomes x, except some punctuation and white space. So the data keeps its
// length, and stays as malformed as it was.
func (s *scrubber) bytes(data []byte) []byte {
	if v := jsontext.Value(data).Clone(); v.IsValid(lenient) {
		scrubbed := []byte(s.json(v))
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
		case !strings.ContainsRune("{}[]<>/\":, \t\r\n", rune(b)):
			b = 'x'
		}
		out[i] = b
	}
	return out
}
