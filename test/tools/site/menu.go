package main

import (
	"fmt"
	"html"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	frontPage = "README.md"
	firstPage = "docs/getting-started.md" // first in the menu
	mapPage   = "docs/README.md"
)

var linked = regexp.MustCompile(`\]\(([^)]+)\)`)

// readMap makes the menu of what the map of the pages lists. Its headings are the shelves, and the
// first cells of its tables lead to their pages. A page that the map does not list is shown below
// the README of its folder.
func (s *site) readMap() error {
	text, err := os.ReadFile(filepath.Join(s.root, mapPage))
	if err != nil {
		return err
	}
	var b strings.Builder
	item := func(file string) {
		s.order = append(s.order, file)
		fmt.Fprintf(&b, "<li><a href=\"{{root}}%s\">%s</a>", s.pages[file], html.EscapeString(s.titles[file]))
	}
	b.WriteString("<ul>\n")
	s.order = []string{frontPage}
	item(firstPage)
	for line := range strings.Lines(string(text)) {
		if shelf, ok := strings.CutPrefix(line, "## "); ok {
			shelf, _, _ = strings.Cut(shelf, ":")
			fmt.Fprintf(&b, "</ul>\n<p>%s</p>\n<ul>\n", strings.TrimSpace(shelf))
		}
		cells := strings.Split(line, " | ")
		for _, link := range linked.FindAllStringSubmatch(cells[0], -1) {
			file := s.target(mapPage, link[1])
			if cells[0] == line || s.titles[file] == "" || slices.Contains(s.order, file) {
				continue
			}
			item(file)
			b.WriteString("<ul>\n")
			for _, other := range s.files {
				if path.Base(file) == "README.md" && path.Dir(other) == path.Dir(file) && s.titles[other] != "" && !slices.Contains(s.order, other) {
					item(other)
				}
			}
			b.WriteString("</ul>\n")
		}
	}
	s.menu = b.String() + "</ul>\n"
	return nil
}

// header returns what stands above every page: a few links, the search and the menu.
func (s *site) header(page string) string {
	here := fmt.Sprintf("\"{{root}}%s\"", page)
	return strings.ReplaceAll(fill(part("header.html"), "{{menu}}", s.menu), here, here+` aria-current="page"`)
}

// turn returns the links from a page to the one before it in the menu, and to the one after it.
func (s *site) turn(file string) string {
	at := slices.Index(s.order, file)
	if at < 0 {
		return ""
	}
	links := ""
	for i, file := range s.order {
		if rel := map[int]string{at - 1: "prev", at + 1: "next"}[i]; rel != "" {
			links += fmt.Sprintf("<a rel=%q href=\"{{root}}%s\">%s</a>\n", rel, s.pages[file], html.EscapeString(s.titles[file]))
		}
	}
	return "<nav class=\"turn\" aria-label=\"The pages before and after this\">\n" + links + "</nav>\n"
}
