package tracepage

import (
	"embed"
	"html"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

//go:embed page
var parts embed.FS

func part(name string) string {
	data, err := parts.ReadFile("page/" + name)
	if err != nil {
		panic("tracepage: unreachable: the file is embedded: " + err.Error())
	}
	return string(data)
}

// HTML returns a page that steps through a run. It is whole in itself: it has its style, its script
// and its data.
func HTML(r *Recording) []byte {
	// An object of a server may have any bytes. What a browser would take for the end of the script
	// is escaped.
	data, err := json.Marshal(r, jsontext.EscapeForHTML(true), jsontext.EscapeForJS(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("tracepage: unreachable: strings, numbers and lists of them can be encoded: " + err.Error())
	}
	var purpose strings.Builder
	for _, paragraph := range r.Purpose {
		purpose.WriteString("<p>" + html.EscapeString(paragraph) + "</p>\n")
	}
	return []byte(strings.NewReplacer(
		"{{name}}", html.EscapeString(r.Name),
		"{{purpose}}", purpose.String(),
		"{{style}}", part("page.css"),
		"{{script}}", part("page.js")+part("wire.js"),
		"{{states}}", part("states.svg"),
		"{{data}}", string(data),
	).Replace(part("page.html")))
}
