package main

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
)

// found is what a search can find: a trace, or the part of a page below a heading. The names are
// short because there are a thousand of them.
type found struct {
	Page  string `json:"u"` // with the anchor
	Title string `json:"t"`
	Part  string `json:"h"`
	Cells string `json:"c,omitempty"` // the first ones of tables
	Text  string `json:"x"`
}

var (
	heading = regexp.MustCompile(`<h([23]) id="([^"]*)">(.*?)</h[23]>|$`)
	tag     = regexp.MustCompile(`<[^>]*>`)
	between = regexp.MustCompile(`</t[dh]>\s*<t[dh][^>]*>`)
	row     = regexp.MustCompile(`<tr>\s*<td[^>]*>(.*?)</td>`)
)

// contents returns the links to the headings of a page, and keeps its parts for the search.
func (s *site) contents(page, title, body string) string {
	text := func(body string) string {
		body = strings.ReplaceAll(between.ReplaceAllString(body, " · "), "</tr>", "; ")
		return strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(body, ""))), " ")
	}
	links, below, begin := "", found{Page: page, Title: title}, 0
	for _, at := range heading.FindAllStringSubmatchIndex(body, -1) {
		below.Text = text(body[begin:at[0]])
		for _, first := range row.FindAllStringSubmatch(body[begin:at[0]], -1) {
			below.Cells += text(first[1]) + " "
		}
		s.found = append(s.found, below)
		if at[2] < 0 {
			break // the end of the page
		}
		level, anchor, name := body[at[2]:at[3]], body[at[4]:at[5]], tag.ReplaceAllString(body[at[6]:at[7]], "")
		links += fmt.Sprintf("<li class=\"level%s\"><a href=\"#%s\">%s</a></li>\n", level, anchor, name)
		below, begin = found{Page: page + "#" + anchor, Title: title, Part: text(name)}, at[1]
	}
	if strings.Count(links, "<li") < 2 {
		return ""
	}
	return fill(part("contents.html"), "{{links}}", links)
}

// search writes the page of the search. Its script has the library and the index in it: what a
// script fetches is not to be had in a site that is opened from a folder.
func (s *site) search() error {
	library, err := os.ReadFile("node_modules/minisearch/dist/umd/index.js")
	if err != nil {
		return fmt.Errorf("run npm ci in test/tools/site: %w", err)
	}
	license, err := os.ReadFile("node_modules/minisearch/LICENSE.txt") // it must be in every copy
	if err != nil {
		return err
	}
	for _, e := range s.traces {
		s.found = append(s.found, found{Page: e.page, Title: e.name, Part: "a trace", Text: e.purpose})
	}
	index, err := json.Marshal(s.found)
	if err != nil {
		return err
	}
	code, _, _ := strings.Cut(string(library), "//# sourceMappingURL")
	if err := s.write("search.js", "/* MiniSearch: "+string(license)+"*/\n"+code+"\nconst all = "+string(index)+";\n"+part("search.js")); err != nil {
		return err
	}
	return s.page("search.html", "Search", "", part("search.html"))
}
