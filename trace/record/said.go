package record

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// list is a whole list.
type list struct {
	version, token string
	objects        []object
	extra          jsontext.Value // merged over the list
}

// status is a Status, as an answer or as an event.
type status struct {
	event           bool
	code            int
	reason, message string
	extra           jsontext.Value // merged over the Status
}

// whole is any other answer that came to its end.
type whole struct {
	code        int
	contentType string
	body        []byte
}

// head is the beginning of a watch.
type head struct{}

// event is an event with an object.
type event struct {
	typ    string
	object object
	split  []float64 // where pieces ended, as parts of the whole; ascending, in (0, 1)
}

// bookmark is one, with or without a version.
type bookmark struct {
	version string
	extra   jsontext.Value
	split   []float64
}

// raw is a chunk that is nothing of the above.
type raw struct{ data []byte }

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
	lines := []string{withJSON(line, l.extra)}
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
	return []string{withJSON("< "+line, s.extra)}
}

func (w *whole) lines() []string {
	return []string{fmt.Sprintf("< %d body %s %s", w.code, strconv.Quote(w.contentType), quoteBytes(w.body))}
}

func (head) lines() []string { return []string{"< 200 watch"} }

func (e *event) lines() []string {
	return []string{"< " + e.typ + " " + e.object.String() + splitOption(e.split, e.object.size())}
}

func (b *bookmark) lines() []string {
	const least = len(`{"type":"BOOKMARK","object":{"kind":"","apiVersion":"","metadata":{}}}`)
	return []string{withJSON("< BOOKMARK "+word("@"+b.version), b.extra) + splitOption(b.split, least)}
}

func (r *raw) lines() []string { return []string{"< raw " + quoteBytes(r.data)} }

func (e ending) lines() []string {
	switch e {
	case finished, hungUp:
		return nil
	default:
		return []string{string(e)}
	}
}

// maxSplits is how many boundaries of an event are kept. A large object comes in
// dozens of pieces, of which the small one in the trace has no room for.
const maxSplits = 3

// splitOption puts the boundaries where they were, in proportion: what is left of
// the object is smaller than what was sent. It has at least size bytes.
func splitOption(split []float64, size int) string {
	if len(split) > maxSplits {
		split = []float64{split[0], split[len(split)/2], split[len(split)-1]}
	}
	var offsets []string
	last := 0
	for _, part := range split {
		at := 1 + int(part*float64(size-2))
		if at <= last || at >= size {
			continue
		}
		offsets = append(offsets, strconv.Itoa(at))
		last = at
	}
	if len(offsets) == 0 {
		return ""
	}
	return " split=" + strings.Join(offsets, ",")
}

func withJSON(line string, extra jsontext.Value) string {
	if extra == nil {
		return line
	}
	return line + " " + string(extra)
}
