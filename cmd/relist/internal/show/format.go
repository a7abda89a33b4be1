package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/relist-go/relist/cmd/internal/cli/report"
)

// Change is an object that was added, changed or deleted.
type Change struct {
	Type     string // of the delta, such as Added
	Resource string // if there are several
	Key      string
	Version  string
	Object   map[string]any
}

// Formats are the words of -o that print objects, and how each prints one.
var Formats = map[string]func(Change) string{"yaml": yamlOf, "json-object": jsonOf}

// yamlOf returns a document, with what happened in a comment. JSON is YAML, too, and the document
// is JSON if YAML would hold characters that cannot be seen: only JSON can escape all of them.
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

// escapeHidden escapes characters of JSON that cannot be seen, as YAML does: JSON has two escapes
// for a character beyond U+FFFF, which are no character in YAML.
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
