package record

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

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

// whole is any other answer that is complete.
type whole struct {
	code        int
	contentType string
	body        []byte
	scrubbed    []byte // the body without text of objects; nil if the scrubber can read it
}

// wire is an answer that was cut off, with its head.
type wire struct{ data []byte }

// head is the beginning of a watch, in a body or over WebSocket.
type head struct{ socket bool }

// event is an event with an object.
type event struct {
	typ    string
	object object
	split  []float64 // where pieces ended, as fractions of the whole; ascending, in (0, 1)
	text   bool      // it came as JSON
}

// bookmark is a bookmark, with or without a version.
type bookmark struct {
	version string
	extra   jsontext.Value
	split   []float64
	text    bool
}

// raw is a chunk that is none of the above.
type raw struct {
	data     []byte
	text     bool   // it came as JSON
	scrubbed []byte // the same without text of objects, if it is not text
}

// closing is how a WebSocket was closed.
type closing struct {
	code   int
	reason string
}

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

func (h head) lines() []string {
	if h.socket {
		return []string{"< 101"}
	}
	return []string{"< 200 watch"}
}

func (w *wire) lines() []string { return []string{"< wire " + strconv.Quote(string(w.data))} }

func (c *closing) lines() []string {
	if c.reason == "" {
		return []string{fmt.Sprintf("< close %d", c.code)}
	}
	return []string{fmt.Sprintf("< close %d %s", c.code, strconv.Quote(c.reason))}
}

// leastBinary is the least number of bytes of an event in protobuf or CBOR, without its names.
const leastBinary = 30

func (e *event) lines() []string {
	least := leastBinary + len(e.object.name) + len(e.object.namespace) + len(e.object.uid)
	if e.text {
		least = e.object.size()
	}
	return []string{"< " + e.typ + " " + e.object.String() + splitOption(e.split, least)}
}

func (b *bookmark) lines() []string {
	least := leastBinary
	if b.text {
		least = len(`{"type":"BOOKMARK","object":{"kind":"","apiVersion":"","metadata":{}}}`)
	}
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

// maxSplits is how many boundaries of an event are kept. A large object comes in dozens of
// pieces, and the small object in the trace has no room for so many.
const maxSplits = 3

// splitOption puts the boundaries at the same fractions of the event, because the object in
// the trace is smaller than the one that was sent. The event has at least size bytes.
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

// quoteBytes prefers backquotes, because JSON stays readable between them.
func quoteBytes(data []byte) string {
	text := string(data)
	if strings.Contains(text, `"`) && utf8.ValidString(text) && strconv.CanBackquote(text) {
		return "`" + text + "`"
	}
	return strconv.Quote(text)
}
