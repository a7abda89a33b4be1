package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// found is what a search can find: the part of a page below a heading, or a trace. The names are
// short because there are a thousand of them.
type found struct {
	Page  string `json:"u"` // with the anchor
	Title string `json:"t"`
	Part  string `json:"h,omitempty"`
	Text  string `json:"x"`
}

// search writes the page of the search, and its script: the library, what it searches, and what
// shows the results. A script is loaded from a folder, too, as data that is fetched would not be.
func (s *site) search() error {
	library, err := os.ReadFile("node_modules/minisearch/dist/umd/index.js")
	if err != nil {
		return fmt.Errorf("run npm ci in test/tools/site: %w", err)
	}
	var all []found
	for _, file := range s.files {
		doc := s.docs[file]
		if doc == nil {
			continue
		}
		for i, part := range doc.parts {
			f := found{Page: s.pages[file], Title: doc.title, Text: strings.Join(strings.Fields(part.text.String()), " ")}
			if i > 0 {
				f.Page, f.Part = f.Page+"#"+part.anchor, part.heading
			}
			all = append(all, f)
		}
	}
	for _, e := range s.traces {
		all = append(all, found{Page: e.page, Title: e.name, Part: "a trace", Text: e.purpose})
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	script, err := layout.ReadFile("layout/search.js")
	if err != nil {
		return err
	}
	code, _, _ := strings.Cut(string(library), "//# sourceMappingURL")
	if err := s.write("search.js", fmt.Appendf(nil, "%s\nconst all = %s;\n%s", code, data, script)); err != nil {
		return err
	}
	return s.page("search.html", "Search", "", `<h1>Search</h1>
<noscript><p>The search needs JavaScript, which is switched off here.</p></noscript>
<p id="found" role="status">Type a word above.</p>
<ol id="results" class="traces"></ol>
<script src="search.js"></script>
`)
}
