package record

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// list is a whole list.
type list struct {
	version, token string
	objects        []object
}

// status is a Status, as an answer or as an event.
type status struct {
	event           bool
	code            int
	reason, message string
	retryAfter      int32 // seconds
	causes          []string
	token           string // with which a list continues
}

// whole is any other answer that is complete. Its body is not recorded.
type whole struct {
	code        int
	contentType string
	size        int // of the body, in bytes
}

// head is the beginning of a watch.
type head string

const begun head = "< 200 watch"

// event is an event with an object.
type event struct {
	typ    string
	object object
}

// bookmark is a bookmark, with or without a version.
type bookmark struct {
	version string
	end     bool // it ends initial events
}

// raw is a chunk that is none of the above. It contains no text of an object.
type raw string

// ending is how an exchange ended.
type ending string

const (
	finished ending = ""         // by a whole answer
	eof      ending = "< eof"    // in good order
	cut      ending = "< cut"    // the connection ended
	reset    ending = "< reset"  // the same by RST
	refused  ending = "< refuse" // there was no connection
	hungUp   ending = "> close"  // by the client
)

func (l *list) lines() []string {
	line := "< 200 list rv=" + value(l.version)
	if l.token != "" {
		line += " continue=" + value(l.token)
	}
	lines := []string{line}
	for i := range l.objects {
		lines = append(lines, "\t"+l.objects[i].String())
	}
	return lines
}

func (s *status) lines() []string {
	reason := word(s.reason)
	if s.reason == "" {
		reason = "-"
	}
	line := fmt.Sprintf("%d %s %s", s.code, reason, strconv.Quote(s.message))
	if s.event {
		line = "ERROR " + line
	}
	extra, details := map[string]any{}, map[string]any{}
	if s.retryAfter != 0 {
		details["retryAfterSeconds"] = s.retryAfter
	}
	if len(s.causes) > 0 {
		causes := make([]map[string]string, len(s.causes))
		for i, reason := range s.causes {
			causes[i] = map[string]string{"reason": reason}
		}
		details["causes"] = causes
	}
	if len(details) > 0 {
		extra["details"] = details
	}
	if s.token != "" {
		extra["metadata"] = map[string]string{"continue": s.token}
	}
	return []string{withJSON("< "+line, extra)}
}

func (w *whole) lines() []string {
	return []string{fmt.Sprintf(`< %d body %s "(%d bytes)"`, w.code, strconv.Quote(w.contentType), w.size)}
}

func (h head) lines() []string { return []string{string(h)} }

func (e *event) lines() []string { return []string{"< " + e.typ + " " + e.object.String()} }

func (b *bookmark) lines() []string {
	extra := map[string]any{}
	if b.end {
		extra["metadata"] = map[string]any{"annotations": map[string]string{metav1.InitialEventsAnnotationKey: "true"}}
	}
	return []string{withJSON("< BOOKMARK "+word("@"+b.version), extra)}
}

func (r raw) lines() []string { return []string{"< raw " + quoteText(string(r))} }

func (e ending) lines() []string {
	switch e {
	case finished, hungUp:
		return nil
	default:
		return []string{string(e)}
	}
}

// withJSON adds JSON that is merged over what the line says, if there is any.
func withJSON(line string, extra map[string]any) string {
	if len(extra) == 0 {
		return line
	}
	data, err := json.Marshal(extra, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("record: unreachable: strings and numbers can be encoded: " + err.Error())
	}
	return line + " " + string(data)
}

var (
	plain  = regexp.MustCompile(`^[A-Za-z0-9@/._:%+*~!-]+$`)
	plainV = regexp.MustCompile(`^[A-Za-z0-9@/._:%+*~!=,-]*$`)
)

// word returns text as a word of a line, quoted if it could be taken for something else.
func word(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

// value returns text as the value of an option.
func value(text string) string {
	if plainV.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

// quoteText prefers backquotes, because JSON stays readable between them.
func quoteText(text string) string {
	if strings.Contains(text, `"`) && strconv.CanBackquote(text) {
		return "`" + text + "`"
	}
	return strconv.Quote(text)
}
