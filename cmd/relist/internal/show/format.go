package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/relist-go/relist/cmd/relist/internal/jsonpath"
	"github.com/relist-go/relist/internal/cli/report"
	"github.com/relist-go/relist/internal/cli/table"
)

// Change is an object that was added, changed or deleted.
type Change struct {
	Type     string // of the delta, such as Added
	Resource string // if there are several
	Key      string
	Version  string
	Object   map[string]any
}

// Format is a way to print objects, one after the other. It is used by one goroutine at a
// time.
type Format interface {
	// Print returns the text of an object, or nothing if it waits for others.
	Print(c Change) string

	// Flush returns the text of the objects that wait. From then on none waits.
	Flush() string
}

// each is a Format in which no object waits.
type each func(Change) string

func (f each) Print(c Change) string { return f(c) }

func (each) Flush() string { return "" }

// Formats are the words of -o that print objects, as messages list them.
const Formats = "yaml, json-object, jsonpath=TEMPLATE, custom-columns=HEADING:PATH,... or table"

// ParseFormat returns the Format of a value of -o, or nil if the word is not one of them. several says that there are objects of
// several resources.
func ParseFormat(output string, several bool) (Format, error) {
	word, argument, hasArgument := strings.Cut(output, "=")
	switch {
	case output == "yaml":
		return each(yamlOf), nil
	case output == "json-object":
		return each(jsonOf), nil
	case word == "jsonpath" && hasArgument:
		template, err := jsonpath.Parse(argument)
		if err != nil {
			return nil, err
		}
		return each(func(c Change) string {
			return strings.TrimSuffix(template.Execute(c.Object, Value), "\n") + "\n"
		}), nil
	case word == "custom-columns" && hasArgument:
		columns, err := ParseColumns(argument)
		if err != nil {
			return nil, err
		}
		if len(columns) == 0 {
			return nil, fmt.Errorf("custom-columns= has no column: want HEADING:PATH, such as NAME:.metadata.name")
		}
		return newRows(columns, several), nil
	case word == "jsonpath", word == "custom-columns":
		return nil, fmt.Errorf("-o %s: want %s=..., such as jsonpath='{.metadata.name}' or custom-columns=NAME:.metadata.name", word, word)
	}
	return nil, nil // no format of objects
}

// yamlOf returns a document, with what happened in a comment. JSON is YAML, too, and the document is JSON if YAML would hold characters
// that cannot be seen: only JSON can escape all of them.
func yamlOf(c Change) string {
	object := plain(c.Object)
	text, err := yaml.JSONToYAML(object)
	if err != nil || bytes.ContainsFunc(text, isHidden) {
		var indented bytes.Buffer
		if err := json.Indent(&indented, object, "", "  "); err != nil {
			panic("show: " + err.Error()) // unreachable: encoding/json has made it
		}
		text = append(escapeHidden(indented.Bytes()), '\n')
	}
	about := c.Type + " " + report.Word(c.Key) + " at " + report.Word(c.Version)
	if c.Resource != "" {
		about = c.Resource + ": " + about
	}
	return "---\n# " + about + "\n" + string(text)
}

func isHidden(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }

// escapeHidden escapes characters of JSON that cannot be seen, as YAML does: JSON has two escapes for a character beyond U+FFFF, which
// are no character in YAML.
func escapeHidden(text []byte) []byte {
	var b []byte
	for _, r := range string(text) { // it is UTF-8: encoding/json has made it
		switch {
		case !isHidden(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			b = fmt.Appendf(b, `\U%08x`, r)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b
}

// jsonOf returns an object on one line, in the form of an event of a watch.
func jsonOf(c Change) string {
	return `{"type":` + string(encode(c.Type)) + `,"object":` + string(encode(c.Object)) + "}\n"
}

// rows is a Format of rows below their headings. They wait for the first Flush, so that they
// can be aligned; later the columns only grow.
type rows struct {
	columns  Columns
	several  bool
	align    table.Aligner
	headings []string
	waiting  [][]string // before the first Flush
	flushed  bool
}

func newRows(columns Columns, several bool) *rows {
	headings := []string{"EVENT"}
	if several {
		headings = append(headings, "RESOURCE")
	}
	r := &rows{columns: columns, several: several, headings: append(headings, columns.Headings()...)}
	r.align.Fit(r.headings, []string{"Replaced"}) // the longest of the types that are common
	return r
}

func (r *rows) Print(c Change) string {
	row := []string{c.Type}
	if r.several {
		row = append(row, c.Resource)
	}
	row = append(row, r.columns.Row(c.Object, time.Now())...)
	if !r.flushed {
		r.waiting = append(r.waiting, row)
		return ""
	}
	return r.align.Line(row) + "\n"
}

func (r *rows) Flush() string {
	if r.flushed {
		return ""
	}
	r.flushed = true
	r.align.Fit(r.waiting...)
	var b strings.Builder
	b.WriteString(r.align.Line(r.headings) + "\n")
	for _, row := range r.waiting {
		b.WriteString(r.align.Line(row) + "\n")
	}
	r.waiting = nil
	return b.String()
}
