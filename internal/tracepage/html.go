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
	main := strings.Replace(part("run.html"), "{{states}}", part("states.svg"), 1)
	return page(r.Name, r.Purpose, main, part("run.js")+part("wire.js"), r)
}

// page makes a page of its parts. about are paragraphs below the name.
func page(name string, about []string, main, script string, data any) []byte {
	// An object of a server may have any bytes. What a browser would take for the end of the script
	// is escaped.
	encoded, err := json.Marshal(data, jsontext.EscapeForHTML(true), jsontext.EscapeForJS(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("tracepage: unreachable: strings, numbers and lists of them can be encoded: " + err.Error())
	}
	var purpose strings.Builder
	for _, paragraph := range about {
		purpose.WriteString("<p>" + html.EscapeString(paragraph) + "</p>\n")
	}
	return []byte(strings.NewReplacer(
		"{{name}}", html.EscapeString(name),
		"{{purpose}}", purpose.String(),
		"{{style}}", part("page.css"),
		"{{main}}", main,
		"{{script}}", part("page.js")+part("words.js")+script,
		"{{data}}", string(encoded),
	).Replace(part("page.html")))
}
