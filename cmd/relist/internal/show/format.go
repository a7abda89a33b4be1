package show

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/relist-go/relist/cmd/relist/internal/jsonpath"
	"github.com/relist-go/relist/cmd/relist/internal/report"
	"github.com/relist-go/relist/internal/visible"
)

// Change is an object that was added, changed or deleted.
type Change struct {
	Type     string // of the delta, such as Added
	Resource string // if there are several
	Key      string
	Version  string
	Object   map[string]any
}

// Format is a way to print objects, one after the other. A Format is used by one goroutine
// at a time, because it may align what follows.
type Format func(Change) string

// Formats are the words of -o that print objects, as messages list them.
const Formats = "yaml, json-object, jsonpath=TEMPLATE, custom-columns=HEADING:PATH,... or table"

// ParseFormat returns the Format of a value of -o, or nil if the word is not one of them. If terminal is set, the output is
// one, so that also YAML has only what can be seen. If several is set, there are objects of several resources.
func ParseFormat(output string, terminal, several bool) (Format, error) {
	word, argument, hasArgument := strings.Cut(output, "=")
	switch {
	case output == "yaml":
		return func(c Change) string { return yamlOf(c, terminal) }, nil
	case output == "json-object":
		return jsonOf, nil
	case word == "jsonpath" && hasArgument:
		template, err := jsonpath.Parse(argument)
		if err != nil {
			return nil, err
		}
		return func(c Change) string {
			return strings.TrimSuffix(template.Execute(c.Object, Value), "\n") + "\n"
		}, nil
	case word == "custom-columns" && hasArgument:
		columns, err := ParseColumns(argument)
		if err != nil {
			return nil, err
		}
		if len(columns) == 0 {
			return nil, fmt.Errorf("custom-columns= has no column: want HEADING:PATH, such as NAME:.metadata.name")
		}
		return rows(columns, several), nil
	case word == "jsonpath", word == "custom-columns":
		return nil, fmt.Errorf("-o %s: want %s=..., such as jsonpath='{.metadata.name}' or custom-columns=NAME:.metadata.name", word, word)
	}
	return nil, nil // no format of objects
}

// yamlOf returns a document, with what happened in a comment.
func yamlOf(c Change, terminal bool) string {
	text, err := yaml.JSONToYAML(escapeHidden(encode(c.Object)))
	if err != nil { // JSON is YAML, too
		text = append(encode(c.Object), '\n')
	}
	about := c.Type + " " + report.Word(c.Key) + " at " + report.Word(c.Version)
	if c.Resource != "" {
		about = c.Resource + ": " + about
	}
	document := string(text)
	if terminal {
		document = visible.Lines(document)
	}
	return "---\n# " + about + "\n" + document
}

// escapeHidden escapes what cannot be seen, some of which YAML does not allow as it is.
func escapeHidden(text []byte) []byte {
	var b []byte
	for _, r := range string(text) { // it is UTF-8: encoding/json has made it
		if r <= 0xffff && !unicode.IsPrint(r) {
			b = fmt.Appendf(b, `\u%04x`, r)
		} else {
			b = utf8.AppendRune(b, r)
		}
	}
	return b
}

// jsonOf returns an object on one line, in the form of an event of a watch.
func jsonOf(c Change) string {
	return `{"type":` + string(encode(c.Type)) + `,"object":` + string(encode(c.Object)) + "}\n"
}

// rows returns a Format of rows below a first row of headings.
func rows(columns Columns, several bool) Format {
	columns = append(Columns{{Heading: "EVENT"}}, columns...)
	if several {
		columns = append(Columns{columns[0], {Heading: "RESOURCE"}}, columns[1:]...)
	}
	align := &Aligner{}
	align.Fit([]string{"Replaced"}) // the longest of the types that are common
	begun := false
	return func(c Change) string {
		row := []string{c.Type}
		if several {
			row = append(row, c.Resource)
		}
		row = append(row, columns[len(row):].Row(c.Object, time.Now())...)
		if begun {
			return align.Line(row) + "\n"
		}
		begun = true
		align.Fit(row)
		return align.Line(columns.Headings()) + "\n" + align.Line(row) + "\n"
	}
}
