package report

import (
	"encoding/json"
	"fmt"
	"time"
)

// Format is how lines are written.
type Format uint8

const (
	// Text is for people.
	Text Format = iota
	// JSON is one object a line.
	JSON
	// None is nothing but the summary, as text.
	None
	// Bytes is nothing but what is given to Write.
	Bytes
)

// timeFormat is RFC 3339 with all nine digits, so that lines sort as text.
const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// appendJSON writes a line with its time, its kind and, if there are several, its resource
// before its own fields.
func appendJSON(b []byte, now time.Time, resource string, l Line) ([]byte, error) {
	fields, err := json.Marshal(l)
	if err != nil {
		return b, fmt.Errorf("encode a %s line: %w", Kind(l), err)
	}
	fields = SafeJSON(fields)
	b = append(b, `{"time":"`...)
	b = now.UTC().AppendFormat(b, timeFormat)
	b = append(b, `","kind":"`...)
	b = append(b, Kind(l)...)
	b = append(b, '"')
	if resource != "" {
		b = append(b, `,"resource":`...)
		b = append(b, Quoted(resource)...)
	}
	if len(fields) > len("{}") {
		b = append(append(b, ','), fields[1:]...)
	} else {
		b = append(b, '}')
	}
	return append(b, '\n'), nil
}

// Quoted is a text as a string of JSON.
func Quoted(s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		// unreachable: every string can be encoded.
		panic("report: " + err.Error())
	}
	return SafeJSON(text)
}
